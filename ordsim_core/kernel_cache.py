"""Where compiled kernels are kept between processes, and when a kept one still is what its source says.

Left to itself, numba takes a kernel for unchanged while its own file is, whatever became of the functions that it
calls in other files, and trips over an index that a full disk or a power cut left half written. Here a kernel is kept
below a name that has the digest of its own file and of all files of the package that this one imports.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
from numba.core.caching import CompileResultCacheImpl, UserWideCacheLocator

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Path(__file__).parent
"""Kernels of this package are kept here; those of others as numba keeps them."""

FROM = re.compile(rf"^\s*from {PACKAGE.name}((?:\.\w+)*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
WORD = re.compile(r"\w+")


@cache
def directory() -> Path | None:
    """Directory of compiled kernels: `NUMBA_CACHE_DIR`, else the user's cache; None if it cannot be written."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        place = Path(named) if named else home / "ordsim" / "kernels"
        place.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no home, or one that cannot be written
        return None
    return place if os.access(place, os.W_OK | os.X_OK) else None


def enable() -> bool:
    """Let numba keep the package's kernels; False if there is nowhere to, and they are compiled in every process."""
    if directory() is None:
        return False
    config: Any = numba.config
    usual = config.CACHE_LOCATOR_CLASSES or ",".join(
        f"{locator.__module__}.{locator.__name__}" for locator in CompileResultCacheImpl._locator_classes
    )
    config.CACHE_LOCATOR_CLASSES = f"{__name__}.{KernelLocator.__name__},{usual}"
    return True


@cache
def digest_of(source: Path) -> str:
    """Digest of a file of the package and of all that it imports from there, directly or not."""
    digest = hashlib.sha256()
    for file in sorted(_needed(source)):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


class KernelLocator(UserWideCacheLocator):
    """Numba's locator of the package's kernels: asked once for each of them, when its module is imported."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        super().__init__(function, file)  # type: ignore[no-untyped-call]
        place, source = directory(), Path(file)
        assert place is not None  # or kernels would not be kept
        self._cache_path = str(place / f"{source.stem}-{digest_of(source)}")

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> KernelLocator | None:
        """Give the locator of a kernel; None for functions of other packages."""
        if PACKAGE not in Path(file).parents:
            return None
        locator: KernelLocator | None = super().from_function(function, file)  # type: ignore[no-untyped-call]
        if locator is not None:
            _remove_damaged(Path(locator.get_cache_path()))  # type: ignore[no-untyped-call]
        return locator


@cache
def _remove_damaged(place: Path) -> None:
    """Remove indices that cannot be read: numba would fail on them at every call, and never write them anew."""
    for index in place.glob("*.nbi"):
        try:
            with index.open("rb") as file:
                pickle.load(file)
                pickle.load(file)
        except FileNotFoundError:
            continue
        except Exception:
            index.unlink(missing_ok=True)


def _needed(source: Path) -> set[Path]:
    found: set[Path] = set()
    waiting = [source]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += _imports(file)
    return found


def _imports(source: Path) -> list[Path]:
    """Files of the package that one of its files imports from."""
    found = []
    for inner, names in FROM.findall(source.read_text()):
        base = PACKAGE.joinpath(*inner.split(".")[1:])
        places = [base, *(base / name for name in WORD.findall(names))]
        found += [place.with_suffix(".py") for place in places if place.with_suffix(".py").is_file()]
    return found
