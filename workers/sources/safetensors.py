"""Safetensors: the length of a header, the header as JSON, and the values behind it."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workers.sources.source import choose, described, mapped, not_whole, refuse

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from workers.sources.source import Source

HEADER_LIMIT = 100_000_000
"""Bytes: the format's own limit."""

BFLOAT16 = "BF16"
TYPES = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
    BFLOAT16: "<u2",
}


def open_safetensors(path: Path, key: str | None) -> Source:
    """Map a tensor of a .safetensors file; bfloat16 becomes float32, exactly.

    Raises
    ------
    ProblemError
        invalid-request; unsupported-dtype.
    """
    try:
        begin, header = _header(path)
        tensors = {name: one for name, one in header.items() if name != "__metadata__"}
        listed = {name: described(one["shape"], one["dtype"]) for name, one in tensors.items()}
        name = choose(path.name, listed, key)
        shown, tensor = f"{path.name} ({name})", tensors[name]
        if tensor["dtype"] not in TYPES:
            raise refuse(shown, f"has values of type {tensor['dtype']!r}: convert them first.", "unsupported-dtype")
        dtype, shape = np.dtype(TYPES[tensor["dtype"]]), tuple(_length(one) for one in tensor["shape"])
        first, last = (_length(one) for one in tensor["data_offsets"])
        if last - first != math.prod(shape) * dtype.itemsize or begin + last > path.stat().st_size:
            raise refuse(shown, "is not a whole tensor: its header does not fit the file.")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise not_whole(path.name, ".safetensors", error) from error
    if 0 in shape:
        return mapped(shown, np.empty(shape, dtype), _widened if tensor["dtype"] == BFLOAT16 else None)
    values: NDArray[Any] = np.memmap(path, dtype, "r", begin + first, shape)
    return mapped(shown, values, _widened if tensor["dtype"] == BFLOAT16 else None)


def _header(path: Path) -> tuple[int, dict[str, Any]]:
    """Where the values begin, and what the header says of them."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > min(HEADER_LIMIT, path.stat().st_size - 8):
            raise ValueError("a header that is longer than the file, or than any")
        header = json.loads(file.read(length), object_pairs_hook=_once)
    if not isinstance(header, dict):
        raise TypeError("a header that is no mapping")
    return 8 + length, header


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name that stands twice")
    return found


def _length(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("a length that is none")
    return int(value)


def _widened(values: NDArray[Any]) -> NDArray[np.float32]:
    """bfloat16 is the upper half of a float32."""
    return (values.astype("<u4") << 16).view("<f4").astype(np.float32, copy=False)
