"""The package as others meet it: what it imports, what it compiles when, and facts about arrays."""

from __future__ import annotations

import subprocess
import sys
import threading
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ordsim_core import facts, quadruplets, triplets, warmup
from ordsim_core.distances import Distance
from ordsim_core.spaces import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from ordsim_core.spaces import Space

FORBIDDEN = ["dask", "distributed", "zarr", "numcodecs", "fastapi", "pydantic", "workers", "service"]

IMPORTS = f"""
import importlib, pkgutil, sys
import ordsim_core
names = [module.name for module in pkgutil.iter_modules(ordsim_core.__path__)]
assert "triplets" in names
for name in names:
    importlib.import_module("ordsim_core." + name)
print(*[name for name in {FORBIDDEN} if name in sys.modules])
"""

WARM = """
import sys
import numpy as np
from ordsim_core import quadruplets, sampling, strips, triplets, warmup
from ordsim_core.distances import Distance, Precision
from ordsim_core.spaces import exactness_of, prepare

def loaded():  # specialisations of each kernel, whether compiled now or kept from before
    modules = [module for name, module in sorted(sys.modules.items()) if name.split(".")[0] == "ordsim_core"]
    values = {id(value): value for module in modules for value in vars(module).values()}
    kernels = [value for value in values.values() if hasattr(value, "signatures")]
    return {f"{one.__module__}.{one.__name__}": len(one.signatures) for one in kernels}

cold = loaded()
warmup.warm()
warm = loaded()
rng = np.random.default_rng(0)
for dtype in ("f2", "f4", "f8", ">f8", "i1", "u8", "?"):
    values = (rng.random((50, 7)) * 5 + 1).astype(dtype)
    values[:, 0] = 0  # no row is constant
    values.flags.writeable = dtype in ("f4", "i1")
    exactness_of(values)
    for distance in Distance:
        for precision in Precision:
            square = values[:7] + values[:7].T if distance is Distance.PRECOMPUTED else values
            space = prepare(square, distance, precision)
            triplets.exact_block(space, space, 2, 6, per_target=True)
            triplets.sampled_range(space, space, 2**64 - 1, 10, 20)
            triplets.units_range(space, space, 1, 0, 3, 4)
            quadruplets.sampled_range(space, space, 0, 2**40, 2**40 + 3)
            quadruplets.units_range(space, space, 1, 0, 3, 3)
            quadruplets.exact_counts(space, space)
            plan = strips.StripPlan(space.rows, 3, 3)
            strips.x_strips(space, space, plan, 0, 3)
            strips.y_strips(space, space, plan, 1, 2)
sampling.triplets(3, 0, 5, 50)
sampling.batch(3, 0, 5, 50)
sampling.quadruplets(3, 0, 5, 50)
print(any(cold.values()), sum(map(bool, warm.values())) > 20)
print(*[name for name, number in loaded().items() if number != warm.get(name)])
"""


def run(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_it_imports_no_framework() -> None:
    assert run(IMPORTS) == ""


def test_nothing_is_left_to_compile_once_warm() -> None:
    """Kernels kept on disk are loaded without an event: what is counted is what has been loaded."""
    assert run(WARM).splitlines() == ["False True"]


ONE_LONG_KERNEL = {
    "a block of anchors": lambda space: triplets.exact_block(space, space, 0, 400),
    "sampled triplets": lambda space: triplets.sampled_range(space, space, 0, 0, 400_000),
    "sampled quadruplets": lambda space: quadruplets.sampled_range(space, space, 0, 0, 400_000),
}


@pytest.mark.parametrize("work", ONE_LONG_KERNEL.values(), ids=ONE_LONG_KERNEL.keys())
def test_kernels_let_other_threads_run(work: Callable[[Space], object]) -> None:
    space = prepare(np.random.default_rng(0).standard_normal((2000, 384)), Distance.EUCLIDEAN)
    warmup.warm()
    worker = threading.Thread(target=work, args=[space])
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # the lock changes hands only where it is given up
    try:
        worker.start()
        turns = 0
        while worker.is_alive():
            turns += 1
            worker.join(0.0005)
    finally:
        sys.setswitchinterval(interval)
    assert turns > 20  # a kernel that kept the lock would leave one or two


@pytest.mark.parametrize("dtype", ["i1", "f4", ">f8", "?", "f2"])
def test_facts(dtype: str) -> None:
    values = np.array([[1, 0, 1, 1], [1, 1, 0, 1], [1, 0, 1, 1], [1, 1, 1, 1]], dtype)
    for array in (values, np.asfortranarray(values), np.repeat(values, 2, axis=1)[:, ::2]):
        assert facts.constant_columns(array) == 2
        assert facts.distinct_rows(array) == 3


def test_facts_over_several_blocks() -> None:
    values = np.zeros((3000, 1000), "f4")
    values[:, 1] = np.arange(3000) % 700
    values[2999, 2] = 1
    assert facts.constant_columns(values) == 998
    assert facts.distinct_rows(values) == 701


def test_distinct_rows_are_counted_in_little_memory() -> None:
    values = (np.arange(400_000) % 300_000).reshape(-1, 1).astype("f4")
    facts.distinct_rows(values[:10])
    calls = 0

    def checkpoint() -> None:
        nonlocal calls
        calls += 1

    tracemalloc.start()
    try:
        assert facts.distinct_rows(values, checkpoint) == 300_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60 * len(values)
    assert calls > 0


def test_both_zeros_are_one_value() -> None:
    values = np.array([[0.0, 1.0], [-0.0, 1.0]])
    assert facts.distinct_rows(values) == 1
    assert facts.constant_columns(values) == 2
