"""Labels of any length, as numpy holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workers.sources.source import refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

TEXT = np.dtype("U16")
"""Stands for text of any length: blocks are as wide as their longest, and are taken to be about so wide."""

LONGEST_LABEL = 4096
"""Bytes: all labels of a block are stored as wide as the longest."""


def check_length(longest: int, start: int, shown: str) -> None:
    """Refuse text that is no label.

    Raises
    ------
    ProblemError
        over-limit.
    """
    if longest > LONGEST_LABEL:
        raise refuse(
            shown,
            f"has text of {longest} bytes from row {start} on; labels have at most {LONGEST_LABEL}.",
            "over-limit",
        )


def as_text(values: Sequence[Any], start: int, shown: str) -> NDArray[Any]:
    """Strings, or bytes in UTF-8, as an array of numpy.

    Raises
    ------
    ProblemError
        invalid-request for what is neither.
    """
    try:
        return np.array([value.decode("utf-8") if isinstance(value, bytes) else str(value) for value in values], "U")
    except UnicodeError as error:
        raise refuse(shown, f"has a label that is not UTF-8 text from row {start} on.") from error
