"""The commands that change gateways."""

import typer

from openshell_bootstrap.cli import options
from openshell_bootstrap.cli.context import (
    confirm_losses,
    emit,
    progress,
    start_gateway,
    wiring_of,
)
from openshell_bootstrap.cli.invocation import Output
from openshell_bootstrap.cli.options import StartOptions

app = typer.Typer(name="gateway", help="Bring up and look after gateways.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def gateway(context: typer.Context) -> None:
    """Bring up and look after gateways."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def start(
    context: typer.Context,
    name: options.NameOption = None,
    image: options.ImageOption = None,
    api_port: options.ApiPortOption = None,
    ports: options.PortsOption = None,
    volumes: options.VolumesOption = None,
    variables: options.VariablesOption = None,
    k3s_args: options.K3sArgsOption = None,
    tls_sans: options.TlsSansOption = None,
    gpus: options.GpusOption = None,
    subnet: options.SubnetOption = None,
    token_file: options.TokenFileOption = None,
    registries: options.RegistriesOption = None,
    pull: options.PullOption = "missing",
    recreate: options.RecreateOption = False,
    start_empty: options.StartEmptyOption = False,
    dry_run: options.DryRunOption = False,
    grace: options.GraceOption = None,
    timeout: options.TimeoutOption = None,
    wait_lock: options.WaitLockOption = 0,
    output: options.OutputOption = Output.TABLE,
) -> None:
    """Bring a gateway up; safe to repeat. What is not said stays as it was."""
    wiring = wiring_of(context, wait_lock)
    given = StartOptions(
        image=image, api_port=api_port, ports=ports, volumes=volumes, variables=variables,
        k3s_args=k3s_args, tls_sans=tls_sans, gpus=gpus, subnet=subnet, token_file=token_file,
        registries=registries, pull=pull, recreate=recreate, start_empty=start_empty,
        grace_s=grace, timeout_s=timeout,
    )  # fmt: skip
    with progress(output) as report:
        request = wiring.request(wiring.gateway(name), given, report)
    if dry_run:
        emit(context, wiring.plan_start(request), output)
        return
    started, told = start_gateway(wiring, request, output)
    emit(context, started, output, told=told)


@app.command()
def stop(
    context: typer.Context,
    name: options.NameOption = None,
    grace: options.GraceOption = None,
    wait_lock: options.WaitLockOption = 0,
    output: options.OutputOption = Output.TABLE,
) -> None:
    """Stop a gateway: its pods end in order, its data is kept."""
    wiring = wiring_of(context, wait_lock)
    with progress(output) as report:
        stopped = wiring.stop(wiring.gateway(name), grace, report)
    emit(context, stopped, output, told=report.told)


@app.command()
def restart(
    context: typer.Context,
    name: options.NameOption = None,
    grace: options.GraceOption = None,
    timeout: options.TimeoutOption = None,
    wait_lock: options.WaitLockOption = 0,
    output: options.OutputOption = Output.TABLE,
) -> None:
    """Stop a gateway in order and bring it up again as it was."""
    wiring = wiring_of(context, wait_lock)
    given = StartOptions(grace_s=grace, timeout_s=timeout)
    with progress(output) as report:
        request = wiring.request(wiring.gateway(name), given, report)
        started = wiring.restart(request, report)
    emit(context, started, output, told=report.told)


@app.command()
def destroy(
    context: typer.Context,
    name: options.NameOption = None,
    yes: options.YesOption = False,
    wait_lock: options.WaitLockOption = 0,
    output: options.OutputOption = Output.TABLE,
) -> None:
    """Remove a gateway WITH ITS DATA, after a question."""
    wiring = wiring_of(context, wait_lock)
    gateway_name = wiring.gateway(name)
    losses = wiring.losses(gateway_name)
    confirm_losses(losses, yes=yes)
    with progress(output) as report:
        destroyed = wiring.destroy(gateway_name, report)
    emit(context, destroyed, output, told=report.told)


@app.command()
def status(
    context: typer.Context,
    name: options.NameOption = None,
    usage: options.UsageOption = False,
    output: options.OutputOption = Output.TABLE,
) -> None:
    """Tell how a gateway is; the exit code tells it too.

    ready 0, absent 3, stopped 4, unknown 5 or 6, starting 7, anything else 8.
    """
    wiring = wiring_of(context)
    seen = wiring.status(wiring.gateway(name), usage=usage)
    emit(context, seen, output)
    raise typer.Exit(seen.exit_code)
