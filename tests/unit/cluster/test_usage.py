"""Sizes that claims ask for, and what folders hold."""

import pytest

from openshell_bootstrap.cluster.usage import USAGE_SCRIPT, observe_usage, parse_quantity
from openshell_bootstrap.errors import ClusterError
from openshell_bootstrap.models import Completed


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1Gi", 1 << 30),
        ("500M", 500_000_000),
        ("1k", 1000),
        ("128Ki", 131072),
        ("1.5Gi", 3 << 29),
        ("1e9", 1_000_000_000),
        ("1E", 10**18),
        ("1Ei", 1 << 60),
        ("100", 100),
        ("1500m", 2),
        ("", 0),
        ("Gi", 0),
        ("1 Gi", 0),
        ("-1Gi", 0),
        ("1Zi", 0),
    ],
)
def test_quantities_are_read_as_the_api_server_writes_them(text, number):
    assert parse_quantity(text) == number


class Answers:
    def __init__(self, status, stdout):
        self.answer = status, stdout

    def run(self, argv, *, stdin=b"", timeout_s=60):
        assert argv == ["sh", "-c", USAGE_SCRIPT, "sh", "9"]
        return Completed(tuple(argv), *self.answer, b"why")


@pytest.mark.parametrize("answer", [(1, b"5\n"), (0, b""), (0, b"5\n6\n")])
def test_an_answer_that_cannot_be_read_is_an_error(answer):
    with pytest.raises(ClusterError) as failed:
        observe_usage(Answers(*answer), ["/a"], 9)
    assert failed.value.details == "why"
