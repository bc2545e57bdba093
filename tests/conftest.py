"""One compilation of the kernels for all the processes that a test run starts."""

import os
import shutil
import tempfile

import pytest

# Before anything imports numba. A directory of this run alone: a kernel in an older one may be out of date.
_KERNELS = tempfile.mkdtemp(prefix="ordsim-kernels-")
os.environ["NUMBA_CACHE_DIR"] = _KERNELS


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(_KERNELS, ignore_errors=True)
