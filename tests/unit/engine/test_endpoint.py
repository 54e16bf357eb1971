"""Which engine is meant: every form of an address, every source of one."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from openshell_bootstrap.engine.endpoint import Tls, resolve
from openshell_bootstrap.errors import ConfigError
from openshell_bootstrap.settings import DockerSettings


def add_context(config: Path, name: str, meta: Any) -> None:
    folder = config / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest()
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(meta if isinstance(meta, str) else json.dumps(meta))


def add_certificates(config: Path, name: str, *files: str) -> Path:
    known_as = hashlib.sha256(name.encode()).hexdigest()
    return write_all(config / "contexts" / "tls" / known_as / "docker", files)


def write_all(folder: Path, files: tuple[str, ...]) -> Path:
    folder.mkdir(parents=True)
    for file in files:
        (folder / file).write_text("")
    return folder


def context(host: str, **more: Any) -> dict[str, Any]:
    return {"Name": "x", "Metadata": {}, "Endpoints": {"docker": {"Host": host, **more}}}


def settings(config: Path, **given: Any) -> DockerSettings:
    return DockerSettings(config=config, **given)


def refused(config: Path, **given: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        resolve(settings(config, **given))
    assert caught.value.remedies
    return caught.value


def test_without_a_word_it_is_the_default_socket(tmp_path: Path) -> None:
    endpoint = resolve(settings(tmp_path))

    assert str(endpoint) == "unix:///var/run/docker.sock (from default)"
    assert endpoint.tls is None


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("unix://", "unix:///var/run/docker.sock"),
        ("unix:///run/x.sock", "unix:///run/x.sock"),
        (" unix:///run/x.sock ", "unix:///run/x.sock"),
        ("tcp://", "tcp://localhost:2375"),
        ("tcp://h", "tcp://h:2375"),
        ("tcp://h:99", "tcp://h:99"),
        ("tcp://:99", "tcp://localhost:99"),
        ("tcp://user@h:99", "tcp://h:99"),
        ("tcp://h:99/p", "tcp://h:99/p"),
        ("tcp://h:99?x=1", "tcp://h:99"),
        ("tcp://[::1]:5", "tcp://[::1]:5"),
        ("h:99", "tcp://h:99"),
        ("h", "tcp://h:2375"),
        ("ssh://user@h", "ssh://user@h"),
        ("ssh://user@h:22", "ssh://user@h:22"),
        ("ssh://h/run/docker.sock", "ssh://h/run/docker.sock"),
    ],
)
def test_every_form_of_an_address(tmp_path: Path, host: str, url: str) -> None:
    """R103."""
    assert str(resolve(settings(tmp_path, host=host))) == f"{url} (from DOCKER_HOST)"


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("npipe://", "Windows"),
        ("npipe:////./pipe/docker_engine", "Windows"),
        ("fd://", "a file descriptor"),
        ("http://h:99", "none of unix://"),
        ("https://h:99", "none of unix://"),
        ("foo://x", "none of unix://"),
        ("unix://a://b", "none of unix://"),
        ("tcp://h:abc", "abc"),
        ("tcp://h:99999", "range"),
        ("tcp://[::1]", "needs its port"),
        ("tcp://[::1", "IPv6"),
        ("ssh://", "names no host"),
        ("ssh://-oProxyCommand=x", "names no host"),
        ("ssh://h?x", "no path"),
        ("ssh://h#x", "no path"),
        ("ssh://u:secret@h", "a password"),
    ],
)
def test_an_address_that_leads_nowhere_says_why(tmp_path: Path, host: str, why: str) -> None:
    """R103: a mistake of the user, told before anything is touched."""
    error = refused(tmp_path, host=host)

    assert error.exit_code == 2
    assert why in error.brief
    assert "DOCKER_HOST" in error.details
    assert "secret" not in error.brief


def test_a_path_from_here_is_a_path_from_here(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)

    assert resolve(settings(tmp_path, host="unix://x.sock")).url == f"unix://{tmp_path}/x.sock"


def test_the_host_variable_wins_over_contexts(tmp_path: Path) -> None:
    add_context(tmp_path, "far", context("tcp://far:2375"))

    endpoint = resolve(settings(tmp_path, host="tcp://here:2375", context="far"))

    assert str(endpoint) == "tcp://here:2375 (from DOCKER_HOST)"


def test_the_context_variable_wins_over_the_current_context(tmp_path: Path) -> None:
    """R103."""
    add_context(tmp_path, "far", context("ssh://user@far"))
    add_context(tmp_path, "near", context("unix:///run/near.sock"))
    (tmp_path / "config.json").write_text('{"currentContext": "near", "auths": {}}')

    far = resolve(settings(tmp_path, context="far"))
    assert str(far) == "ssh://user@far (from context far)"
    assert str(resolve(settings(tmp_path))) == "unix:///run/near.sock (from context near)"
    assert str(resolve(settings(tmp_path, context="default"))).endswith("(from default)")


def test_a_context_needs_no_configuration_beside_it(tmp_path: Path) -> None:
    add_context(tmp_path, "far", context("tcp://far:1"))

    assert resolve(settings(tmp_path, context="far")).url == "tcp://far:1"


@pytest.mark.parametrize("config", ["{}", '{"currentContext": ""}', '{"currentContext": null}'])
def test_a_configuration_without_a_context_means_the_default(tmp_path: Path, config: str) -> None:
    (tmp_path / "config.json").write_text(config)

    assert resolve(settings(tmp_path)).source == "default"


@pytest.mark.parametrize("config", ["{", "[]", '{"currentContext": 5}', "\udcff"])
def test_a_damaged_configuration_leads_to_no_engine(tmp_path: Path, config: str) -> None:
    (tmp_path / "config.json").write_text(config, errors="surrogateescape")

    assert str(tmp_path / "config.json") in refused(tmp_path).brief
    assert resolve(settings(tmp_path, host="tcp://h:1")).url == "tcp://h:1"


@pytest.mark.parametrize("name", ["gone", "../x", "a\udcff"])
def test_a_context_that_is_not_there_is_a_mistake_of_the_user(tmp_path: Path, name: str) -> None:
    error = refused(tmp_path, context=name)

    assert name in error.brief
    assert "DOCKER_CONTEXT" in error.details


def test_a_current_context_that_is_not_there_is_told_from_one_that_was_asked_for(
    tmp_path: Path,
) -> None:
    (tmp_path / "config.json").write_text('{"currentContext": "gone"}')

    assert "the Docker configuration" in refused(tmp_path).details


@pytest.mark.parametrize(
    "meta",
    ["{", "[]", {"Name": "x"}, {"Endpoints": {}}, context(""), {"Endpoints": {"kubernetes": {}}}],
)
def test_a_context_that_leads_to_no_engine_is_a_mistake_of_the_user(
    tmp_path: Path, meta: Any
) -> None:
    add_context(tmp_path, "broken", meta)

    assert "The Docker context broken" in refused(tmp_path, context="broken").brief


def test_a_context_may_name_an_address_that_cannot_be(tmp_path: Path) -> None:
    add_context(tmp_path, "windows", context("npipe:////./pipe/docker_engine"))

    assert refused(tmp_path, context="windows").details == "It comes from context windows."


WHOLE = ("ca.pem", "cert.pem", "key.pem")


@pytest.mark.parametrize(
    ("given", "url", "verifies"),
    [
        ({"verifies_tls": True}, "tcp://localhost:2376", True),
        ({"uses_tls": True}, "tcp://localhost:2376", False),
        ({"uses_tls": True, "verifies_tls": True}, "tcp://localhost:2376", True),
        ({"verifies_tls": True, "host": "tcp://h"}, "tcp://h:2375", True),
        ({"uses_tls": True, "host": "tcp://h:1"}, "tcp://h:1", False),
    ],
)
def test_tls_is_used_where_a_variable_asks_for_it(
    tmp_path: Path, given: dict[str, Any], url: str, verifies: bool
) -> None:
    folder = write_all(tmp_path / "certs", WHOLE)

    endpoint = resolve(settings(tmp_path, cert_path=folder, **given))

    assert endpoint.url == url
    pair = (folder / "cert.pem", folder / "key.pem")
    assert endpoint.tls == Tls(verifies, folder / "ca.pem", pair)


@pytest.mark.parametrize("host", ["tcp://h:1", "unix:///run/x.sock", ""])
def test_a_folder_for_certificates_alone_is_no_wish_for_tls(tmp_path: Path, host: str) -> None:
    folder = write_all(tmp_path / "certs", WHOLE)

    assert resolve(settings(tmp_path, cert_path=folder, host=host)).tls is None


@pytest.mark.parametrize("host", ["unix:///run/x.sock", "ssh://h"])
def test_what_is_no_tcp_needs_no_tls(tmp_path: Path, host: str) -> None:
    assert resolve(settings(tmp_path, verifies_tls=True, host=host)).tls is None


def test_certificates_lie_beside_the_configuration_where_nothing_else_is_said(
    tmp_path: Path,
) -> None:
    config = write_all(tmp_path / "config", ("ca.pem",))

    tls = resolve(settings(config, verifies_tls=True)).tls

    assert tls == Tls(verifies=True, authority=config / "ca.pem")


@pytest.mark.parametrize("host", ["", "tcp://here:2376"])
def test_an_authority_that_is_not_there_is_a_mistake_of_the_user(tmp_path: Path, host: str) -> None:
    error = refused(tmp_path, host=host, verifies_tls=True, cert_path=tmp_path / "none")

    assert str(tmp_path / "none") in error.details


@pytest.mark.parametrize(
    ("files", "skips", "expected"),
    [
        (WHOLE, False, (True, "ca.pem", True)),
        (("ca.pem",), False, (True, "ca.pem", False)),
        (WHOLE, True, (False, "ca.pem", True)),
        ((), True, (False, None, False)),
        ((), None, None),
    ],
)
def test_a_contexts_certificates_count_and_it_verifies_unless_it_says_otherwise(
    tmp_path: Path, files: tuple[str, ...], skips: bool | None, expected: Any
) -> None:
    more = {} if skips is None else {"SkipTLSVerify": skips}
    add_context(tmp_path, "far", context("tcp://far:1", **more))
    if files:
        add_certificates(tmp_path, "far", *files)

    tls = resolve(settings(tmp_path, context="far", verifies_tls=True)).tls

    told = tls and (tls.verifies, tls.authority and tls.authority.name, bool(tls.certificate))
    assert told == expected
