"""What the engine answers, as snapshots of ours."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from openshell_bootstrap.engine import translate
from openshell_bootstrap.engine.wire import (
    BindingAnswer,
    ContainerAnswer,
    ImageAnswer,
    InfoAnswer,
    NetworkAnswer,
    VersionAnswer,
    VolumeAnswer,
    convert,
)
from openshell_bootstrap.models import (
    Attachment,
    Container,
    Health,
    HealthProbe,
    Mount,
    PublishedPort,
)


def container_of(answer: Any) -> Container:
    return translate.container(convert(answer, ContainerAnswer))


def test_a_running_container(recorded: Callable[[str], Any]) -> None:
    seen = container_of(recorded("container-running"))

    assert seen.name == "pz-rec"
    assert seen.image == "openshell/test-busybox:dev"
    assert seen.image_id.startswith("sha256:")
    assert seen.status == "running"
    assert seen.hostname == "openshell-t1"
    assert seen.labels == {"openshell.ai/gateway": "t1"}
    assert seen.command[:2] == ("/bin/sh", "-c")
    assert seen.environment == {
        "OPENSHELL_NODE_NAME": "openshell-t1",
        "EQ": "a=b",
        "BARE": "",
        "PATH": "/bin",
    }
    assert set(seen.mounts) == {
        Mount(kind="volume", source="pz-rec", target="/var/lib/rancher/k3s"),
        Mount(kind="bind", source="/usr/share/doc", target="/doc", read_only=True),
    }
    assert PublishedPort("127.0.0.1", 24443, 6443) in seen.ports
    (web,) = [port for port in seen.ports if port.container_port == 80]
    assert web.address == "0.0.0.0"
    assert web.host_port > 0
    assert (seen.health.status, seen.health.output) == ("healthy", "well")
    (probe,) = seen.health.probes
    assert probe == HealthProbe(
        started_at="2026-11-30T22:30:23.266123595Z", exit_code=0, output="well"
    )
    assert seen.has_started
    assert (seen.finished_at, seen.oom_killed) == ("", False)
    assert seen.restart_count == 0


def test_udp_ports_are_left_out(recorded: Callable[[str], Any]) -> None:
    seen = container_of(recorded("container-running"))

    assert {port.container_port for port in seen.ports} == {80, 6443}


def test_a_container_that_never_started(recorded: Callable[[str], Any]) -> None:
    seen = container_of(recorded("container-created"))

    assert (seen.status, seen.started_at, seen.has_started) == ("created", "", False)
    assert seen.attachments == (Attachment(network="pz-rec", network_id=""),)
    assert PublishedPort("0.0.0.0", 0, 80) in seen.ports


def test_a_stopped_container_keeps_the_id_of_a_network_that_is_gone(
    recorded: Callable[[str], Any],
) -> None:
    seen = container_of(recorded("container-exited"))
    before = container_of(recorded("container-running"))

    assert (seen.status, seen.exit_code, seen.is_up) == ("exited", 0, False)
    assert seen.finished_at == "2026-11-30T22:30:23.560720038Z"
    assert [one.network_id for one in seen.attachments] == [
        one.network_id for one in before.attachments
    ]
    assert seen.attachments[0].address == ""
    assert PublishedPort("127.0.0.1", 24443, 6443) in seen.ports


def test_a_container_without_anything(recorded: Callable[[str], Any]) -> None:
    seen = container_of(recorded("container-bare"))

    assert seen.attachments == ()
    assert seen.ports == ()
    assert seen.mounts == ()
    assert seen.labels == {}
    assert seen.health == Health(status="none")
    assert seen.command == ("sleep", "1")


def test_an_unknown_status_cannot_be_used(recorded: Callable[[str], Any]) -> None:
    answer = recorded("container-running")
    answer["State"]["Status"] = "hibernating"

    assert container_of(answer).status == "dead"


@pytest.mark.parametrize(
    ("health", "expected"),
    [
        ({"Status": "starting", "Log": None}, Health(status="starting")),
        ({"Status": "none", "Log": []}, Health(status="none")),
        (
            {"Status": "unhealthy", "Log": [{"Output": "old"}, {"Output": " no route\n"}]},
            Health(
                status="unhealthy",
                output="no route",
                probes=(
                    HealthProbe(started_at="", exit_code=0, output="old"),
                    HealthProbe(started_at="", exit_code=0, output="no route"),
                ),
            ),
        ),
    ],
)
def test_the_last_word_of_a_health_check_counts(
    recorded: Callable[[str], Any], health: Any, expected: Health
) -> None:
    answer = recorded("container-running")
    answer["State"]["Health"] = health

    assert container_of(answer).health == expected


def test_a_kill_for_want_of_memory_is_told(recorded: Callable[[str], Any]) -> None:
    answer = recorded("container-exited")
    answer["State"] |= {"OOMKilled": True, "ExitCode": 137}

    assert container_of(answer).oom_killed


@pytest.mark.parametrize("field", ["Id", "State", "NetworkSettings", "Mounts"])
def test_an_answer_without_what_matters_is_refused(
    recorded: Callable[[str], Any], field: str
) -> None:
    answer = recorded("container-running")
    del answer[field]

    with pytest.raises(msgspec.ValidationError):
        container_of(answer)


@pytest.mark.parametrize(
    ("wanted", "bound", "expected"),
    [
        ({"80/tcp": [BindingAnswer("", "")]}, None, 0),
        ({"80/tcp": [BindingAnswer("", "0")]}, {"80/tcp": [BindingAnswer("", "32768")]}, 32768),
        (
            {"80/tcp": [BindingAnswer("", "8000-8010")]},
            {"80/tcp": [BindingAnswer("", "8004")]},
            8004,
        ),
        ({"80/tcp": [BindingAnswer("", "8080")]}, {"80/tcp": None}, 8080),
    ],
)
def test_the_host_port_is_the_one_asked_for_or_else_the_bound_one(
    wanted: Any, bound: Any, expected: int
) -> None:
    assert translate.published_ports(wanted, bound) == (PublishedPort("0.0.0.0", expected, 80),)


def test_ports_that_are_exposed_and_not_published_are_none() -> None:
    assert translate.published_ports({"80/tcp": None}, None) == ()
    assert translate.published_ports(None, {"80/tcp": None}) == ()


def test_an_image(recorded: Callable[[str], Any]) -> None:
    seen = translate.image(convert(recorded("image"), ImageAnswer))

    assert seen.tags == ("openshell/test-volumes:dev",)
    assert seen.digests == ()
    assert seen.declared_volumes == ("/var/lib/declared",)
    assert seen.architecture == "amd64"
    assert seen.size > 0


def test_an_image_that_says_nothing_to_containers(recorded: Callable[[str], Any]) -> None:
    answer = recorded("image") | {"Config": None, "RepoTags": None}

    seen = translate.image(convert(answer, ImageAnswer))

    assert (seen.tags, seen.labels, seen.declared_volumes) == ((), {}, ())


def test_a_network(recorded: Callable[[str], Any]) -> None:
    seen = translate.network(convert(recorded("network"), NetworkAnswer))

    assert seen.name == "pz-rec"
    assert seen.labels == {"openshell.ai/gateway": "t1"}
    assert seen.containers == (container_of(recorded("container-running")).id,)


def test_a_volume(recorded: Callable[[str], Any]) -> None:
    seen = translate.volume(convert(recorded("volume"), VolumeAnswer))

    assert seen.name == "pz-rec"
    assert seen.mountpoint == "/var/lib/docker/volumes/pz-rec/_data"
    assert seen.labels == {"openshell.ai/gateway": "t1"}


def test_an_engine(recorded: Callable[[str], Any]) -> None:
    info = convert(recorded("info"), InfoAnswer)
    version = convert(recorded("version"), VersionAnswer)

    assert (info.name, info.cgroup_version, info.ncpu) == ("enginehost", "1", 2)
    assert (version.api_version, version.min_api_version) == ("1.41", "1.12")
    assert not translate.is_rootless(info)
    rootless = recorded("info") | {"SecurityOptions": ["name=seccomp", "name=rootless"]}
    assert translate.is_rootless(convert(rootless, InfoAnswer))


def test_an_engine_tells_what_it_cannot_limit(recorded: Callable[[str], Any]) -> None:
    """R96."""
    without = recorded("info") | {"MemoryLimit": False, "CPUSet": False}

    assert translate.missing_controllers(convert(recorded("info"), InfoAnswer)) == ()
    assert translate.missing_controllers(convert(without, InfoAnswer)) == ("cpuset", "memory")


@pytest.mark.parametrize(
    ("told", "offset"),
    [
        ("1970-01-01T00:16:39Z", -1.0),
        ("1970-01-01T00:16:40.5Z", 0.0),
        ("1970-01-01T00:16:42.25+00:00", 1.25),
        ("", None),
        ("soon", None),
    ],
)
def test_a_clock_is_off_by_what_the_call_itself_does_not_explain(
    recorded: Callable[[str], Any], told: str, offset: float | None
) -> None:
    answer = convert(recorded("info") | {"SystemTime": told}, InfoAnswer)

    assert translate.clock_offset(answer, asked_at=1000.0, answered_at=1001.0) == offset


def test_labels_become_a_filter() -> None:
    assert translate.label_filters({"a": "b", "any": ""}) == {"label": ["a=b", "any"]}
    assert translate.label_filters({}) == {}
    assert translate.label_filters(None) == {}
