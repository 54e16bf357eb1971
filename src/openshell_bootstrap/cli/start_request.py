"""From the options of ``gateway start`` to what is asked of it. Reads the files they name."""

import os
import re
import stat
from pathlib import Path

from openshell_bootstrap.cli import parse
from openshell_bootstrap.cli.options import StartOptions
from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.events import Notice, Reporter
from openshell_bootstrap.gateway.request import StartRequest
from openshell_bootstrap.settings import READY_PATIENCE, STOP_GRACE_S, Settings

_MAX_TOKEN = 4096
_MAX_REGISTRIES = 1 << 20
_TOKEN = re.compile(rb"[!-~]+")
_FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def build_request(
    name: str, options: StartOptions, settings: Settings, report: Reporter
) -> StartRequest:
    """Check every option and read the files that they name.

    Raises:
        ConfigError: An option cannot be used; nothing was touched.
    """
    api_port = None if options.api_port is None else parse.parse_api_port(options.api_port)
    ports = parse.values_of(options.ports, parse.parse_port)
    parse.check_distinct([*([api_port] if api_port else []), *(ports or ())])
    variables = parse.values_of(options.variables, parse.parse_variable)
    return StartRequest(
        name=name,
        image=_image(options.image) or settings.node_image,
        image_is_explicit=options.image is not None,
        api_port=api_port,
        ports=ports,
        volumes=parse.values_of(options.volumes, _volume),
        environment=None if variables is None else dict(variables),
        k3s_args=parse.values_of(options.k3s_args, parse.parse_k3s_argument),
        tls_sans=parse.values_of(options.tls_sans, parse.parse_san),
        gpus=None if options.gpus is None else options.gpus and parse.parse_gpus(options.gpus),
        subnet=options.subnet and _subnet(options.subnet),
        token=_token(options.token_file, report),
        registries=_registries(options.registries),
        proxies=settings.proxies,
        pull=options.pull,
        recreate=options.recreate,
        start_empty=options.start_empty,
        grace_s=STOP_GRACE_S if options.grace_s is None else options.grace_s,
        timeout_s=options.timeout_s or READY_PATIENCE.timeout_s,
    )


def _image(given: str | None) -> str | None:
    if given is not None and (not given or any(letter.isspace() for letter in given)):
        raise ConfigError(
            f"{given!r} is not an image",
            remedies=["Give a reference such as `--image rancher/k3s:v1.35.3-k3s1`."],
        )
    return given


def _volume(given: str) -> str:
    """A volume whose source, if it is a path, is absolute; and that the node can have."""
    from openshell_bootstrap.gateway.node_container import parse_volume  # noqa: PLC0415 - lazy

    source, colon, rest = given.partition(":")
    if source.startswith((".", "~")):
        given = f"{Path(os.path.abspath(Path(source).expanduser()))}{colon}{rest}"  # noqa: PTH100 - keeps links
    parse_volume(given)
    return given


def _subnet(given: str) -> str:
    from openshell_bootstrap.gateway.checks.subnet import parse_subnet  # noqa: PLC0415 - lazy

    return parse_subnet(given)


def _token(path: Path | None, report: Reporter) -> bytes | None:
    if path is None:
        return None
    token = _read(path, _MAX_TOKEN, "token").strip()
    if not _TOKEN.fullmatch(token):
        raise ConfigError(
            f"{path} holds no token",
            details="A token is one line of printable characters without spaces.",
            remedies=[f"Write one: `openssl rand -hex 16 > {path}`."],
        )
    if path.stat().st_mode & _FOR_OTHERS:
        report(Notice(f"Others may read the token in {path}: `chmod 600 {path}`"))
    return token


def _registries(path: Path | None) -> bytes | None:
    if path is None:
        return None
    import yaml  # noqa: PLC0415 - rarely needed, and not for free

    content = _read(path, _MAX_REGISTRIES, "registries file")
    problem = "It is not a mapping."
    try:
        if isinstance(yaml.safe_load(content), dict):
            return content
    except (yaml.YAMLError, RecursionError) as error:
        problem = str(error)
    raise ConfigError(
        f"{path} is not a registries file",
        details=problem,
        remedies=["k3s wants YAML with `mirrors` and `configs`: docs.k3s.io, private registries."],
    )


def _read(path: Path, limit: int, what: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise ConfigError(
            f"The {what} {path} cannot be read",
            details=str(error.strerror),
            remedies=["Name a file that is there and that you may read."],
        ) from error
    if len(content) > limit:
        raise ConfigError(
            f"The {what} {path} is too large", details=f"It has more than {limit} bytes."
        )
    return content
