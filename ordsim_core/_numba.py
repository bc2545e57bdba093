"""The only place where numba options live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numba
import numpy as np

from ordsim_core import kernel_cache

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")

Int: TypeAlias = int | np.int64
"""An integer inside a kernel: numba makes 64 bits of either."""

_ON_DISK = kernel_cache.enable()


def kernel(function: Function) -> Function:
    """Compile a serial kernel that holds no interpreter lock.

    No fastmath: it would reorder sums, so that equal rows could get unequal keys. No threads of its own: the
    caller's threads give the parallelism.
    """
    return cast("Function", numba.njit(nogil=True, cache=_ON_DISK, error_model="numpy")(function))


def reordering_kernel(function: Function) -> Function:
    """Compile as `kernel` does, but let sums be taken in any order, which makes them several times faster.

    Only for values that come with an error bound that holds for every order of summation: their last bits may
    differ between processors.
    """
    options = {"reassoc", "contract", "nsz"}
    return cast("Function", numba.njit(nogil=True, cache=_ON_DISK, error_model="numpy", fastmath=options)(function))
