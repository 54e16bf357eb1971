"""Options that several commands share: one spelling, one help text."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from openshell_bootstrap.cli.invocation import Output

NameOption = Annotated[
    str | None,
    typer.Option(
        "--name",
        "-g",
        metavar="NAME",
        help="The gateway. [default: $OPENSHELL_GATEWAY, the active one, 'openshell']",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Output, typer.Option("--output", "-o", help="How the result is told.", show_default=False)
]
GraceOption = Annotated[
    int | None,
    typer.Option(
        "--grace",
        metavar="SECONDS",
        min=0,
        help="From asking the node to end to KILL. [default: 60]",
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout", metavar="SECONDS", min=1, help="How long the node may take. [default: 300]"
    ),
]
UsageOption = Annotated[
    bool, typer.Option("--usage", help="Measure what every claim holds, in a minute at most.")
]
WaitLockOption = Annotated[
    float,
    typer.Option(
        "--wait-lock",
        metavar="SECONDS",
        min=0,
        help="How long to wait for another command on the gateway. [default: 0]",
        show_default=False,
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

ImageOption = Annotated[
    str | None, typer.Option("--image", metavar="IMAGE", help="The node image.")
]
ApiPortOption = Annotated[
    str | None,
    typer.Option(
        "--api-port", metavar="[ADDR:]PORT", help="Where the Kubernetes API is published."
    ),
]
PortsOption = Annotated[
    list[str] | None,
    typer.Option("-p", metavar="[ADDR:]HOST:NODE", help="Publish a port of the node; repeatable."),
]
VolumesOption = Annotated[
    list[str] | None,
    typer.Option("-v", metavar="SOURCE:TARGET[:ro]", help="Mount into the node; repeatable."),
]
VariablesOption = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME=VALUE", help="Set in the node, no secrets; repeatable."),
]
K3sArgsOption = Annotated[
    list[str] | None,
    typer.Option("--k3s-arg", metavar="ARG", help="Give `k3s server` an argument; repeatable."),
]
TlsSansOption = Annotated[
    list[str] | None,
    typer.Option("--tls-san", metavar="NAME", help="Name in the API's certificate; repeatable."),
]
TokenFileOption = Annotated[
    Path | None, typer.Option("--token-file", metavar="FILE", help="The cluster's join token.")
]
RegistriesOption = Annotated[
    Path | None,
    typer.Option("--registries", metavar="FILE", help="k3s's registries.yaml for the node."),
]
GpusOption = Annotated[
    str | None, typer.Option("--gpus", metavar="all|N", help="GPUs for the node.")
]
SubnetOption = Annotated[
    str | None,
    typer.Option("--subnet", metavar="CIDR", help="Range of addresses of the gateway's network."),
]
PullOption = Annotated[
    Literal["missing", "never"],
    typer.Option("--pull", help="When to pull the node image.", show_default=True),
]
StartEmptyOption = Annotated[
    bool,
    typer.Option("--start-empty", help="Start anew although the data volume is gone: no question."),
]
RecreateOption = Annotated[
    bool, typer.Option("--recreate", help="Stop a running node to apply what differs.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """The options of ``gateway start`` as they were typed; None where one was not given."""

    image: str | None = None
    api_port: str | None = None
    ports: list[str] | None = None
    volumes: list[str] | None = None
    variables: list[str] | None = None
    k3s_args: list[str] | None = None
    tls_sans: list[str] | None = None
    gpus: str | None = None
    subnet: str | None = None
    token_file: Path | None = None
    registries: Path | None = None
    pull: Literal["missing", "never"] = "missing"
    recreate: bool = False
    start_empty: bool = False
    grace_s: int | None = None
    timeout_s: float | None = None
