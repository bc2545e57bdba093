"""Parquet: a column of vectors, several columns of numbers, or a column of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workers import limits
from workers.sources.source import Source, choose, even, not_whole, refuse, require_extra
from workers.sources.text import TEXT, as_text, check_length

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from workers.sources.source import Blocks

EVERY = "*"
"""The key of all columns of numbers side by side."""

BUFFER_BYTES = 1024**2
BATCH_BYTES = 1024**2
LONGEST_BATCH = 65536


def open_parquet(path: Path, key: str | None) -> Source:
    """Read columns in batches: one of vectors, one of labels, or several of numbers by ``a,b,c`` or ``*``.

    Raises
    ------
    ProblemError
        invalid-request; unsupported-dtype; not-a-matrix for vectors of several lengths.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - an optional package
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ModuleNotFoundError:
        raise require_extra(path.name, "Parquet", "pyarrow") from None
    damaged = (pa.ArrowException, OSError, ValueError)

    def opened() -> Any:
        return pq.ParquetFile(path, memory_map=True, buffer_size=BUFFER_BYTES, pre_buffer=False)

    try:
        with opened() as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
            columns = _columns(path.name, schema, key)
            shown = f"{path.name} ({','.join(columns) if len(columns) < 4 else f'{len(columns)} columns'})"
            width = _width(file, schema, columns, shown)
    except damaged as error:
        raise not_whole(path.name, "Parquet", error) from error
    types = [schema.field(column).type for column in columns]
    convert, dtype = _conversion(types, shown, width)
    batch = max(1, min(LONGEST_BATCH, BATCH_BYTES // max(1, (width or 1) * dtype.itemsize)))

    def pieces() -> Blocks:
        start = 0
        with opened() as file:
            for one in file.iter_batches(batch, columns=columns, use_threads=False):
                yield convert(one, start)
                start += one.num_rows

    def blocks(number: int) -> Blocks:
        try:
            yield from even(pieces(), number)
        except damaged as error:
            raise not_whole(shown, "Parquet", error) from error

    return Source(shown, (rows,) if width is None else (rows, width), dtype, blocks)


def _columns(shown: str, schema: Any, key: str | None) -> list[str]:
    """The columns that are meant."""
    numbers = [field.name for field in schema if _is_number(field.type)]
    members = {field.name: str(field.type) for field in schema}
    if len(numbers) > 1:
        members[EVERY] = f"the {len(numbers)} columns of numbers, side by side"
    if key is None and len(numbers) == len(schema) > 1:
        key = EVERY
    if key is not None and key not in members:
        chosen = [column.strip() for column in key.split(",")]
        if len(chosen) > 1 and all(column in numbers for column in chosen):
            return chosen
    name = choose(shown, members, key)
    return numbers if name == EVERY else [name]


def _is_number(kind: Any) -> bool:
    return str(kind) in {"bool", "halffloat", "float", "double"} or str(kind).lstrip("u") in {
        f"int{bits}" for bits in (8, 16, 32, 64)
    }


def _is_vector(kind: Any) -> bool:
    return str(kind).startswith(("fixed_size_list<", "list<", "large_list<"))


def _is_text(kind: Any) -> bool:
    plain = kind.value_type if str(kind).startswith("dictionary<") else kind
    return str(plain) in {"string", "large_string"}


def _width(file: Any, schema: Any, columns: list[str], shown: str) -> int | None:
    """Values in a row; None for labels."""
    kind = schema.field(columns[0]).type
    if len(columns) > 1:
        return len(columns)
    if str(kind).startswith("fixed_size_list<"):
        width = int(kind.list_size)
    elif _is_vector(kind):
        first = next(file.iter_batches(1, columns=columns, use_threads=False), None)
        width = 0 if first is None or not first.num_rows else len(first.column(0)[0].as_py() or ())
    else:
        return None
    if _leaves(file.metadata, columns[0]) != width * file.metadata.num_rows:
        raise refuse(shown, f"has vectors of another length than {width}, or missing ones.", "not-a-matrix")
    if width > limits.COLUMNS_LIMIT:
        raise refuse(shown, f"has {width} values a row; supported are {limits.COLUMNS_LIMIT}.", "over-limit")
    return width


def _leaves(metadata: Any, column: str) -> int:
    """How many values the file says that a column of vectors has in all: known before any is unpacked."""
    groups = (metadata.row_group(place) for place in range(metadata.num_row_groups))
    parts = (group.column(place) for group in groups for place in range(group.num_columns))
    return sum(part.num_values for part in parts if part.path_in_schema.startswith(f"{column}."))


def _conversion(
    types: list[Any], shown: str, width: int | None
) -> tuple[Callable[[Any, int], NDArray[Any]], np.dtype[Any]]:
    """What makes an array of a batch, and the type of its values."""
    kind = types[0]
    if _is_vector(kind) and _is_number(kind.value_type):
        return lambda batch, start: _vectors(batch.column(0), start, shown, width), _dtype(kind.value_type)
    if all(_is_number(one) for one in types):
        dtype = np.result_type(*(_dtype(one) for one in types))
        return lambda batch, start: _table(batch, start, shown, dtype, width is None), dtype
    if _is_text(kind):
        return lambda batch, start: _labels(batch.column(0), start, shown), TEXT
    raise refuse(shown, f"has values of type {kind}: neither numbers nor strings.", "unsupported-dtype")


def _dtype(kind: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
    return dtype


def _require_whole(column: Any, start: int, shown: str) -> None:
    if column.null_count:
        row = start + column.is_null().to_pylist().index(True)
        raise refuse(shown, f"has no value in row {row}. Remove or fill such rows.")


def _vectors(column: Any, start: int, shown: str, width: int | None) -> NDArray[Any]:
    _require_whole(column, start, shown)
    flat = column.flatten()
    if len(flat) != len(column) * (width or 0) or not _all_equal(column, width):
        raise refuse(shown, f"has vectors of another length than {width} from row {start} on.", "not-a-matrix")
    if flat.null_count:
        row = start + flat.is_null().to_pylist().index(True) // (width or 1)
        raise refuse(shown, f"has a missing value in row {row}. Remove or fill such rows.")
    values: NDArray[Any] = flat.to_numpy(zero_copy_only=False)
    return values.reshape(len(column), width or 0)


def _all_equal(column: Any, width: int | None) -> bool:
    if str(column.type).startswith("fixed_size_list<"):
        return True
    lengths = np.diff(column.offsets.to_numpy())
    return bool((lengths == width).all())


def _table(batch: Any, start: int, shown: str, dtype: np.dtype[Any], flat: bool) -> NDArray[Any]:
    for column in batch.columns:
        _require_whole(column, start, shown)
    columns = [column.to_numpy(zero_copy_only=False).astype(dtype, copy=False) for column in batch.columns]
    return columns[0] if flat else np.stack(columns, axis=1)


def _labels(column: Any, start: int, shown: str) -> NDArray[Any]:
    _require_whole(column, start, shown)
    text = column.dictionary_decode() if str(column.type).startswith("dictionary<") else column
    values = text.to_pylist()
    check_length(max(map(len, values), default=0), start, shown)
    return as_text(values, start, shown)
