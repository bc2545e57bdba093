"""What ordsim computes: ordinal similarity of two representations. Numbers in, numbers out; no I/O."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordsim_core.scoring import Score, qsi, tsi

__all__ = ["Score", "qsi", "tsi"]


def __getattr__(name: str) -> Any:
    """Import what a notebook calls when it does: kernels take a while."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ordsim_core import scoring  # noqa: PLC0415

    return getattr(scoring, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
