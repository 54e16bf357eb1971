"""How the answers of a pod's name server are read."""

import pytest

from openshell_bootstrap.cluster.pod_dns import POD_DNS_SCRIPT, PodDns, observe_pod_dns
from openshell_bootstrap.models import Completed
from openshell_bootstrap.settings import NAME_SERVER_TIMEOUT_S


class Says:
    def __init__(self, text):
        self.text = text

    def run(self, argv, *, stdin=b"", timeout_s=60):
        assert argv == ["sh", "-c", POD_DNS_SCRIPT, "sh", str(NAME_SERVER_TIMEOUT_S), "gw"]
        assert timeout_s > 2 * NAME_SERVER_TIMEOUT_S
        return Completed(tuple(argv), 0, self.text, b"")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"cluster answered\noutside answered\n", PodDns("answered", "answered")),
        (b"cluster answered\noutside failed\n", PodDns("answered", "failed")),
        (b"cluster failed\noutside unknown\n", PodDns("failed", "unknown")),
        (b"cluster failed\n", PodDns("failed")),
        (b"", PodDns()),
        (b"sh: nsenter: not found\n", PodDns()),
        (b"cluster perhaps\n", PodDns()),
    ],
)
def test_only_words_that_are_known_count(text, found):
    """R98."""
    assert observe_pod_dns(Says(text), "gw") == found
