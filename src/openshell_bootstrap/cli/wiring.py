"""The one place that makes the real parts and hands them to operations, each when it is needed.

Importing an operation or the engine costs more than all the rest of a short command, so the
imports are inside. Tests put another object with these methods into the Typer context.
"""
# ruff: noqa: PLC0415 - see above

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from openshell_bootstrap.errors import ConfigError

if TYPE_CHECKING:
    from openshell_bootstrap.cli.options import StartOptions
    from openshell_bootstrap.engine.api import Engine
    from openshell_bootstrap.events import Reporter
    from openshell_bootstrap.gateway import results
    from openshell_bootstrap.gateway.request import StartRequest
    from openshell_bootstrap.settings import Settings
    from openshell_bootstrap.store.host import Store


class Wiring:
    """The operations, wired to this host's engine and disk."""

    def __init__(self) -> None:
        self.command = "openshell"
        """What this process does, for whoever finds a lock taken."""
        self.wait_lock_s = 0.0
        """How long it waits for a lock that another process holds."""

    @cached_property
    def settings(self) -> "Settings":
        """What the environment says."""
        from openshell_bootstrap.settings import read_settings

        return read_settings()

    @cached_property
    def engine(self) -> "Engine":
        """The Docker engine; making it costs no call."""
        from openshell_bootstrap.engine.docker import DockerEngine

        return DockerEngine.at(self.settings.docker)

    @cached_property
    def store(self) -> "Store":
        """This user's records and locks."""
        from openshell_bootstrap.store.host import open_store

        return open_store(self.command, self.wait_lock_s)

    def gateway(self, given: str | None) -> str:
        """Which gateway is meant: flag, environment, active gateway, default.

        Raises:
            ConfigError: Nobody can say which one is active.
        """
        from openshell_bootstrap.models import Unknown
        from openshell_bootstrap.names import DEFAULT_GATEWAY

        if given is not None or self.settings.gateway is not None:
            return given if given is not None else str(self.settings.gateway)
        active = self.store.active.find()
        if isinstance(active, Unknown):
            raise ConfigError(
                "It is not clear which gateway is meant",
                details=active.cause,
                remedies=[
                    "Name it with --name.",
                    "`openshell gateway select NAME` chooses the active one.",
                ],
            )
        return active or DEFAULT_GATEWAY

    def request(self, name: str, given: "StartOptions", report: "Reporter") -> "StartRequest":
        """What a start is asked for, from the options and the files that they name."""
        from openshell_bootstrap.cli.start_request import build_request

        return build_request(name, given, self.settings, report)

    def start(self, request: "StartRequest", report: "Reporter") -> "results.Started":
        """Bring a gateway up."""
        from openshell_bootstrap.gateway.start import start

        return start(request, engine=self.engine, store=self.store, report=report)

    def plan_start(self, request: "StartRequest") -> "results.Planned":
        """Tell what ``start`` would do."""
        from openshell_bootstrap.gateway.start import plan_start

        return plan_start(request, engine=self.engine, store=self.store)

    def stop(self, name: str, grace_s: int | None, report: "Reporter") -> "results.Stopped":
        """Stop a gateway."""
        from openshell_bootstrap.gateway.stop import stop
        from openshell_bootstrap.settings import STOP_GRACE_S

        grace = STOP_GRACE_S if grace_s is None else grace_s
        return stop(name, engine=self.engine, store=self.store, grace_s=grace, report=report)

    def restart(self, request: "StartRequest", report: "Reporter") -> "results.Started":
        """Stop a gateway and bring it up again."""
        from openshell_bootstrap.gateway.restart import restart

        return restart(request, engine=self.engine, store=self.store, report=report)

    def losses(self, name: str) -> "results.Losses":
        """Tell what ``destroy`` would remove."""
        from openshell_bootstrap.gateway.destroy import losses

        return losses(name, engine=self.engine, store=self.store)

    def destroy(self, name: str, report: "Reporter") -> "results.Destroyed":
        """Remove a gateway with its data."""
        from openshell_bootstrap.gateway.destroy import destroy

        return destroy(name, engine=self.engine, store=self.store, report=report)

    def status(self, name: str, *, usage: bool) -> "results.Status":
        """Tell how a gateway is."""
        from openshell_bootstrap.gateway.status import status

        proxies = self.settings.proxies
        return status(name, engine=self.engine, store=self.store, proxies=proxies, usage=usage)

    def list_gateways(self) -> "tuple[results.GatewayRow, ...]":
        """List all gateways."""
        from openshell_bootstrap.gateway.list import list_gateways

        return list_gateways(engine=self.engine, store=self.store)

    def select(self, name: str) -> "results.Selected":
        """Make a gateway the active one."""
        from openshell_bootstrap.gateway.select import select

        return select(name, engine=self.engine, store=self.store)

    def info(self, name: str) -> "results.Info":
        """Tell what a gateway is made of."""
        from openshell_bootstrap.gateway.info import info

        return info(name, engine=self.engine, store=self.store)

    def logs(
        self, name: str, *, tail: int | None, follow: bool, since: str | None
    ) -> Iterator[bytes]:
        """Lines of the node's log."""
        from openshell_bootstrap.cli.parse import parse_since
        from openshell_bootstrap.gateway.logs import logs

        moment = 0.0 if since is None else parse_since(since, datetime.now(UTC))
        return logs(name, engine=self.engine, tail=tail, follow=follow, since=moment)

    def exec_in_node(self, name: str, argv: Sequence[str], *, tty: bool) -> int:
        """Run a command in the node, wired to this process's own streams."""
        from openshell_bootstrap.gateway.exec import exec_in_node

        return exec_in_node(name, argv, engine=self.engine, tty=tty)

    def kubectl(self, name: str, arguments: Sequence[str], *, tty: bool) -> int:
        """Run the node's kubectl, wired to this process's own streams."""
        from openshell_bootstrap.gateway.exec import kubectl

        return kubectl(name, arguments, engine=self.engine, tty=tty)

    def kubeconfig(self, name: str, *, internal: bool) -> "results.Kubeconfig":
        """Read a gateway's kubeconfig."""
        from openshell_bootstrap.gateway.kubeconfig import get_kubeconfig

        return get_kubeconfig(name, engine=self.engine, internal=internal)

    def merge_kubeconfig(self, name: str, *, use: bool) -> "results.KubeconfigChanged":
        """Put a gateway into the user's kubeconfig."""
        from openshell_bootstrap.gateway.kubeconfig import merge_kubeconfig

        return merge_kubeconfig(name, self._user_kubeconfig, engine=self.engine, use=use)

    def remove_kubeconfig(self, name: str) -> "results.KubeconfigChanged":
        """Take a gateway out of the user's kubeconfig."""
        from openshell_bootstrap.gateway.kubeconfig import remove_kubeconfig

        return remove_kubeconfig(name, self._user_kubeconfig)

    def check(self, name: str) -> "results.Checked":
        """Look for all that can keep a gateway from starting or staying well."""
        from openshell_bootstrap.cli.options import StartOptions
        from openshell_bootstrap.events import silent
        from openshell_bootstrap.gateway.doctor import check

        request = self.request(name, StartOptions(), silent)
        return check(request, connect=lambda: self.engine, store=self.store, settings=self.settings)

    def bundle(self, name: str, file: Path | None) -> "results.DiagnosticsSaved":
        """Save what can be seen of a gateway."""
        from openshell_bootstrap.gateway.evidence.diagnostics import bundle

        return bundle(name, engine=self.engine, store=self.store, file=file)

    def versions(self, name: str | None) -> "results.Versions":
        """Tell this command's version and that of a gateway's k3s."""
        if name is None:
            from openshell_bootstrap import __version__
            from openshell_bootstrap.gateway.results import Versions

            return Versions(client=__version__)
        from openshell_bootstrap.gateway.version import versions_of

        return versions_of(name, engine=self.engine, store=self.store)

    @property
    def _user_kubeconfig(self) -> Path:
        return self.settings.kubeconfig
