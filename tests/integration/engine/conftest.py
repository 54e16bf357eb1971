"""What tests that start engines of their own share."""

import os

import pytest

from tests.integration.engine.machines import write_image_tar
from tests.plugins.engine import missing


@pytest.fixture(scope="session")
def engine_machine(request, engine):
    """Engines may be used here at all, and started; the one that answers is not changed."""
    if os.geteuid() != 0:
        missing(request.config, "only root may start engines")


@pytest.fixture(scope="session")
def image_tar(tmp_path_factory):
    return write_image_tar(tmp_path_factory.mktemp("image") / "busybox.tar")
