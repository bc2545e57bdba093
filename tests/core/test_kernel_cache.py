"""Compiled kernels are kept between processes, and compiled anew when anything that they call has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from ordsim_core import kernel_cache

if TYPE_CHECKING:
    from pathlib import Path

KERNELS = {
    "outer.py": "from ordsim_core._numba import kernel\nfrom ordsim_core.inner import one\n\n\n"
    "@kernel\ndef two():\n    return one() + one()\n",
    "inner.py": "from ordsim_core._numba import kernel\n\n\n@kernel\ndef one():\n    return 1\n",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of the same name with two kernels, one of which calls the other."""
    folder = tmp_path / "sources" / kernel_cache.PACKAGE.name
    folder.mkdir(parents=True)
    for name in ("__init__.py", "_numba.py", "kernel_cache.py"):
        (folder / name).write_bytes((kernel_cache.PACKAGE / name).read_bytes())
    for name, text in KERNELS.items():
        (folder / name).write_text(text)
    return folder


def run(package: Path, place: Path | None) -> tuple[int, int]:
    """Call the outer kernel in a process of its own; what it gives, and how many kernels were found compiled."""
    code = (
        "from ordsim_core.outer import two; from ordsim_core.inner import one; result = two(); one();"
        "print(result, sum(sum(k.stats.cache_hits.values()) for k in (one, two)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "HOME": str(package.parent / "none")}
    environment.pop("XDG_CACHE_HOME", None)
    environment.pop("NUMBA_CACHE_DIR", None)
    if place is not None:
        environment["NUMBA_CACHE_DIR"] = str(place)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=package.parent, env=environment, capture_output=True, text=True, check=True
    )
    result, found = done.stdout.split()
    return int(result), int(found)


def test_kept_until_what_is_called_in_another_file_changes(package: Path, tmp_path: Path) -> None:
    place = tmp_path / "kernels"
    assert run(package, place) == (2, 0)
    assert run(package, place) == (2, 2)
    (package / "inner.py").write_text(KERNELS["inner.py"].replace("return 1", "return 5"))
    assert run(package, place) == (10, 0)
    (package / "inner.py").write_text(KERNELS["inner.py"])
    assert run(package, place) == (2, 2)


def test_an_index_that_is_damaged_is_written_anew(package: Path, tmp_path: Path) -> None:
    place = tmp_path / "kernels"
    run(package, place)
    indices = list(place.glob("*/*.nbi"))
    assert len(indices) == 2
    for index in indices:
        index.write_bytes(index.read_bytes()[:20])
    assert run(package, place) == (2, 0)
    assert run(package, place) == (2, 2)


def test_the_users_cache_serves_where_no_directory_is_named(package: Path) -> None:
    assert run(package, None) == (2, 0)
    assert run(package, None) == (2, 2)


def test_without_a_place_kernels_are_compiled_in_each_process(package: Path, tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("no directory")
    assert run(package, in_the_way / "kernels") == (2, 0)
    assert run(package, in_the_way / "kernels") == (2, 0)


def test_a_digest_follows_imports_over_several_files() -> None:
    needed = {file.stem for file in kernel_cache._needed(kernel_cache.PACKAGE / "triplets.py")}
    assert {"triplets", "concordance", "_numba", "kernel_cache", "sorting"} <= needed
    assert "strips" not in needed
