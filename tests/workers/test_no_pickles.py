"""Nothing that comes from outside is ever unpickled or run: no module has the means.

Dask pickles tasks between the processes of one service, which trust one another. What clients and arrays can influence
is read as JSON, as numpy's format without objects, or by codecs of a list.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ordsim_core
import service
import workers

MEANS = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "_pickle", "runpy", "code"}
CALLS = {"eval", "exec", "compile", "__import__"}
OWN_CACHE = {"kernel_cache.py"}
"""Reads what numba keeps of compiled kernels, in a directory of the user alone."""

MODULES = sorted(
    path
    for package in (ordsim_core, workers, service)
    for path in Path(package.__file__ or "").parent.rglob("*.py")
    if path.name not in OWN_CACHE
)


def faults(tree: ast.AST) -> set[str]:
    """What a module does that could run what it reads."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.partition(".")[0] in MEANS}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in MEANS:
            found.add(str(node.module))
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            allowed = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}.get("allow_pickle")
            if name in CALLS or (name in ("np.load", "np.save", "np.memmap.load") and allowed != "False"):
                found.add(name)
    return found


def test_no_module_unpickles_or_runs_what_it_reads() -> None:
    assert len(MODULES) > 150
    found = {path.name: faults(ast.parse(path.read_text("utf-8"))) for path in MODULES}
    assert {name: what for name, what in found.items() if what} == {}


@pytest.mark.parametrize(
    "source",
    ["import pickle", "from cloudpickle import loads", "np.load(f)", "np.load(f, allow_pickle=True)", "eval(x)"],
)
def test_what_is_looked_for_would_be_found(source: str) -> None:
    assert faults(ast.parse(source))
