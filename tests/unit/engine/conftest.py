import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def recorded() -> Callable[[str], Any]:
    """An answer of Docker 20.10.24 as it was recorded."""

    def read(what: str) -> Any:
        return json.loads((DATA / f"engine-20.10.24-{what}.json").read_text())

    return read
