"""Real commands on a real engine, broken at requests that a seed chooses."""

from collections.abc import Callable

import pytest

from openshell_bootstrap.engine.docker import DockerEngine
from tests.faults.engine_operations import (
    ENGINE_OPERATIONS,
    WITHOUT_ENGINE,
    Place,
    Point,
    points,
)
from tests.faults.engine_runner import EngineRunner
from tests.faults.operations import commands_of_the_app
from tests.faults.runner import Tally
from tests.plugins.engine import missing


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "point" in metafunc.fixturenames:
        option = metafunc.config.getoption
        chosen = points(option("--seed"), option("--faults"))
        metafunc.parametrize("point", chosen, ids=str)


@pytest.fixture(scope="module")
def runner(
    request: pytest.FixtureRequest,
    place: Place,
    engine: DockerEngine,
    tmp_path_factory: pytest.TempPathFactory,
) -> EngineRunner:
    url = engine.connection.endpoint.url
    if not url.startswith("unix://"):
        missing(request.config, f"the door stands before a unix socket, not before {url}")
    return EngineRunner(place, url.removeprefix("unix://"), tmp_path_factory.mktemp("door"))


def test_broken_at_a_request_nothing_is_lost_and_the_next_start_converges(
    runner: EngineRunner, point: Point, pytestconfig, count_faults: Callable[[Tally], None]
):
    count_faults(runner.break_at(point, pytestconfig.getoption("--seed")))


def test_every_command_goes_through_it():
    broken = {operation.command for operation in ENGINE_OPERATIONS}
    assert commands_of_the_app() - WITHOUT_ENGINE == broken
