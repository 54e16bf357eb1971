"""Tiers: which tests need an engine, how long a test may take, and whether enough of them ran."""

import os
from pathlib import Path

import hypothesis
import pytest

TESTS = Path(__file__).parents[1]
HERMETIC = ("unit", "cli")
ENGINE_FIXTURES = {"engine"}
NODE_FIXTURES = {"node_image"}

UNIT_TIMEOUT_S = 10
"""A test takes milliseconds; beside nodes that boot each of them may wait for the processor."""

PROPERTY_TIMEOUT_S = 20
"""A property is a hundred examples. A busy machine is no reason for one to fail."""

ENGINE_TIMEOUT_S = 60
NODE_TIMEOUT_S = 600

ENGINE_TEST_FLOOR = 200
"""So many tests that need an engine run at least in a whole session that requires one."""


class EngineTests:
    """Counts the tests that ran against an engine."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.ran = 0

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Told of every test, in whichever process it ran; one that was skipped did not run."""
        if report.when == "call" and "engine" in report.keywords and not report.skipped:
            self.ran += 1

    @pytest.hookimpl
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._is_short() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._is_short():
            terminalreporter.write_line(
                f"only {self.ran} tests ran against the engine; the floor is {ENGINE_TEST_FLOOR}",
                red=True,
            )

    def _is_short(self) -> bool:
        return (
            is_required(self.config)
            and is_whole_suite(self.config)
            and self.ran < ENGINE_TEST_FLOOR
        )


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("engine")
    group.addoption(
        "--engine",
        choices=("auto", "require", "off"),
        default="require" if _is_ci() else "auto",
        help="auto: skip where no engine answers; require: fail (default where CI is set); "
        "off: never touch one",
    )
    group.addoption(
        "--soak",
        type=float,
        default=120,
        metavar="SECONDS",
        help="how long the soak goes on beginning new turns (default: 120)",
    )
    group.addoption("--seed", type=int, default=1, help="of the soak's order (default: 1)")
    group.addoption(
        "--keep", action="store_true", help="leave what tests made on the engine for a look"
    )


def pytest_configure(config: pytest.Config) -> None:
    if not is_worker(config):
        config.pluginmanager.register(EngineTests(config), "engine-tests")
    hypothesis.settings.register_profile("suite", deadline=None)
    hypothesis.settings.load_profile("suite")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Derive marks and time limits from where a test is and which fixtures it asks for."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & NODE_FIXTURES:
            item.add_marker("node")
        if fixtures & (ENGINE_FIXTURES | NODE_FIXTURES):
            item.add_marker("engine")
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_timeout_s(item)))


def is_hermetic(path: Path) -> bool:
    """Whether a test file belongs to a tier that touches nothing outside."""
    return any(path.is_relative_to(TESTS / tier) for tier in HERMETIC)


def is_worker(config: pytest.Config) -> bool:
    """Whether this process runs a part of the tests for another one (``-n``)."""
    return hasattr(config, "workerinput")


def is_required(config: pytest.Config) -> bool:
    """Whether a missing engine or image is a failure."""
    return bool(config.getoption("--engine") == "require")


def is_whole_suite(config: pytest.Config) -> bool:
    """Whether nothing was deselected."""
    narrowed = (config.option.keyword, config.option.markexpr, config.option.collectonly)
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return whole and not any(narrowed)


def _timeout_s(item: pytest.Item) -> float:
    if item.get_closest_marker("node"):
        return NODE_TIMEOUT_S
    if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        return PROPERTY_TIMEOUT_S
    if is_hermetic(item.path):
        return UNIT_TIMEOUT_S
    return ENGINE_TIMEOUT_S


def _is_ci() -> bool:
    return os.environ.get("CI", "").lower() not in {"", "0", "false"}
