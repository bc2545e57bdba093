"""One compilation of the kernels for all the processes that a test run starts."""

import os
import shutil
import subprocess
import sys
import tempfile

import pytest

# Before anything imports numba. A directory of this run alone: a kernel in an older one may be out of date.
_KERNELS = tempfile.mkdtemp(prefix="ordsim-kernels-")
os.environ["NUMBA_CACHE_DIR"] = _KERNELS


def pytest_collection_finish(session: pytest.Session) -> None:
    """Compile before the first test, whose time is limited."""
    if session.items and not session.config.option.collectonly:
        subprocess.run([sys.executable, "-c", "from ordsim_core import warmup; warmup.warm()"], check=True)


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(_KERNELS, ignore_errors=True)
