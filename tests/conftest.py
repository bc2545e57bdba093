"""One compilation of the kernels for all the processes that a test run starts."""

import subprocess
import sys
from pathlib import Path

import pytest

NO_PROCESSES = {Path(__file__).parent / folder for folder in ("core", "compose")}
"""Tests that start no workers here."""


def pytest_collection_finish(session: pytest.Session) -> None:
    """Compile before the first test that starts workers, whose time is limited; kept kernels are only loaded."""
    starting = [item for item in session.items if not NO_PROCESSES.intersection(item.path.parents)]
    if starting and not session.config.option.collectonly:
        subprocess.run([sys.executable, "-c", "from ordsim_core import warmup; warmup.warm()"], check=True)
