"""One compilation of the kernels for all the processes that a test run starts."""

import subprocess
import sys
from pathlib import Path

import pytest

IN_THIS_PROCESS = Path(__file__).parent / "core"


def pytest_collection_finish(session: pytest.Session) -> None:
    """Compile before the first test that starts workers, whose time is limited; kept kernels are only loaded."""
    starting = [item for item in session.items if IN_THIS_PROCESS not in item.path.parents]
    if starting and not session.config.option.collectonly:
        subprocess.run([sys.executable, "-c", "from ordsim_core import warmup; warmup.warm()"], check=True)
