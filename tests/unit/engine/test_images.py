import pytest

from openshell_bootstrap.engine.images import follow_pull, split_reference
from openshell_bootstrap.errors import PullError

DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("rancher/k3s:v1.35.3-k3s1", ("rancher/k3s", "v1.35.3-k3s1")),
        ("rancher/k3s", ("rancher/k3s", "latest")),
        (f"rancher/k3s:v1@{DIGEST}", ("rancher/k3s", DIGEST)),
        (f"rancher/k3s@{DIGEST}", ("rancher/k3s", DIGEST)),
        ("127.0.0.1:5000/k3s", ("127.0.0.1:5000/k3s", "latest")),
        ("127.0.0.1:5000/k3s:v1", ("127.0.0.1:5000/k3s", "v1")),
        (f"127.0.0.1:5000/k3s@{DIGEST}", ("127.0.0.1:5000/k3s", DIGEST)),
    ],
)
def test_a_reference_is_split_as_the_engine_wants_it(
    reference: str, expected: tuple[str, str]
) -> None:
    assert split_reference(reference) == expected


def test_a_pull_tells_how_far_each_layer_is() -> None:
    told: list[tuple[str, int, int]] = []
    lines = [
        {"status": "Pulling from rancher/k3s", "id": "v1"},
        {"status": "Pulling fs layer", "progressDetail": {}, "id": "abc"},
        {
            "status": "Downloading",
            "progressDetail": {"current": 5, "total": 10},
            "progress": "[=> ]",
            "id": "abc",
        },
        {"status": "Verifying Checksum", "progressDetail": {}, "id": "abc"},
        {"status": "Extracting", "progressDetail": {"current": 10, "total": 10}, "id": "abc"},
        {"status": "Extracting", "progressDetail": {"current": 1, "units": "s"}, "id": "abc"},
        {"status": f"Digest: {DIGEST}"},
    ]

    follow_pull("rancher/k3s:v1", lines, lambda *report: told.append(report))

    assert told == [("abc downloading", 5, 10), ("abc extracting", 10, 10)]


def test_an_error_in_the_stream_fails_the_pull() -> None:
    lines = [
        {"status": "Pulling from rancher/k3s", "id": "v1"},
        {"errorDetail": {"message": "toomanyrequests"}, "error": "toomanyrequests: slow down"},
    ]

    with pytest.raises(PullError) as caught:
        follow_pull("rancher/k3s:v1", lines, lambda *_report: None)

    assert "toomanyrequests: slow down" in caught.value.details
    assert "rancher/k3s:v1" in caught.value.brief
    assert any("docker load" in remedy for remedy in caught.value.remedies)
