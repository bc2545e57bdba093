"""On what machine, and with which versions, figures were measured."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import threadpoolctl

from ordsim_core import kernel_cache, warmup

VERSIONED = ("ordsim", "numpy", "numba", "scipy", "scikit-learn")
LEVELS = ("avx512f", "avx2", "avx")
OLD_KERNELS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def facts() -> dict[str, Any]:
    """Say what figures depend on."""
    blas = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    return {
        "processor": _processor("model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "vectors": next((level for level in LEVELS if level in _flags()), "none known"),
        "memoryBytes": psutil.virtual_memory().total,
        "load": round(os.getloadavg()[0], 2),
        "blas": sorted({f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}" for pool in blas}),
        "blasThreads": max((pool["num_threads"] for pool in blas), default=0),
        "environment": {name: os.environ[name] for name in OLD_KERNELS if name in os.environ},
        "versions": {"python": platform.python_version(), **{name: version(name) for name in VERSIONED}},
        "kernels": kernel_cache.digest_of(Path(warmup.__file__)),
        "system": platform.platform(),
    }


def has_avx512() -> bool:
    """Whether libraries will use AVX-512."""
    return "avx512f" in _flags()


def _flags() -> set[str]:
    return set(_processor("flags").split())


def _processor(field: str) -> str:
    """Read a line of the first processor's description; empty where there is none."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(field)), "")
