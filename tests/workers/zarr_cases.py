"""Builders of small zarr arrays in every dialect, whole and damaged."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numcodecs
import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

from workers import staging
from workers.references import Reference, Root, RowRange

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from workers.staging import StagedArray

BASE = np.random.default_rng(20).integers(-9, 10, (8, 4)).astype(np.float32)
"""Neutral values: no row, column or chunk of them is all zeros."""


@dataclass(frozen=True)
class Lab:
    """A data root and what surrounds it."""

    directory: Path
    outside: Path
    staging: Path

    @property
    def roots(self) -> dict[str, Root]:
        return {"lab": Root("lab", str(self.directory))}

    def write(self, path: str, values: Any, **dialect: Any) -> Path:
        return write(self.directory / path, values, **dialect)

    def stage(
        self,
        path: str,
        *,
        name: str = "x",
        missing_chunks: Any = "error",
        rows: tuple[int, int] | None = None,
        columns: tuple[int, int] | None = None,
        checkpoint: Callable[[], None] = lambda: None,
    ) -> StagedArray:
        wanted = None if rows is None else RowRange(*rows)
        reference = Reference("lab", path, wanted, None if columns is None else RowRange(*columns))
        return staging.stage(self.roots, reference, self.staging, name, missing_chunks, checkpoint)

    def staged(self, path: str, **options: Any) -> np.ndarray:
        return staging.load(self.staging, self.stage(path, **options))


def write(
    path: Path,
    values: Any,
    *,
    chunks: tuple[int, ...] | None = None,
    shards: tuple[int, ...] | None = None,
    zarr_format: int = 3,
    order: str = "C",
    separator: str | None = None,
    key_encoding: str | None = None,
    big_endian: bool = False,
    compressors: Any = "auto",
    filters: Any = "auto",
    fill_value: Any = 0,
    store_empty: bool = True,
    attributes: dict[str, Any] | None = None,
) -> Path:
    """Write an array; every chunk is stored unless `store_empty` is false."""
    values = np.asarray(values)
    options: dict[str, Any] = {}
    if zarr_format == 2:
        options["order"] = order
    elif order == "F":
        filters = [TransposeCodec(order=tuple(reversed(range(values.ndim))))]
    if big_endian:
        if zarr_format == 2:
            values = values.astype(values.dtype.newbyteorder(">"))
        else:
            options["serializer"] = BytesCodec(endian="big")
    if separator:
        options["chunk_key_encoding"] = {
            "name": key_encoding or ("v2" if zarr_format == 2 else "default"),
            "separator": separator,
        }
    if attributes:
        options["attributes"] = attributes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr says that types such as fixed-length strings are not in its standard
        array = zarr.create_array(
            path,
            shape=values.shape,
            dtype=values.dtype,
            chunks=chunks or tuple(max(1, size) for size in values.shape),
            shards=shards,
            zarr_format=zarr_format,  # type: ignore[arg-type]
            compressors=compressors,
            filters=filters,
            fill_value=fill_value,
            config={"write_empty_chunks": store_empty},
            **options,
        )
        if values.size:
            array[...] = values
    return path


def write_sharded(path: Path, values: np.ndarray, codec: ShardingCodec, shards: tuple[int, ...]) -> Path:
    """Write shards with an index laid out as the codec says; chunks of zeros are left out."""
    array = zarr.create_array(
        path, shape=values.shape, dtype=values.dtype, chunks=shards, serializer=codec, compressors=None, fill_value=0
    )
    array[...] = values
    return path


def edit(path: Path, **changes: Any) -> None:
    """Change members of an array's metadata document."""
    document = path / "zarr.json" if (path / "zarr.json").exists() else path / ".zarray"
    document.write_text(json.dumps(json.loads(document.read_text()) | changes))


INDEX_LAYOUTS = {
    "end-checksum": {},
    "start": {"index_location": "start"},
    "bare": {"index_codecs": [BytesCodec()]},
    "start-bare-big": {"index_location": "start", "index_codecs": [BytesCodec(endian="big")]},
    "big": {"index_codecs": [BytesCodec(endian="big"), Crc32cCodec()]},
}

DIALECTS: dict[str, dict[str, Any]] = {
    "plain": {"chunks": (2, 4)},
    "one-chunk": {"chunks": (8, 4)},
    "one-chunk-too-large": {"chunks": (20, 9)},
    "one-row-chunks": {"chunks": (1, 4)},
    "feature-chunks": {"chunks": (8, 1)},
    "single-values": {"chunks": (1, 1)},
    "ragged": {"chunks": (3, 3)},
    "v3-big-endian": {"chunks": (3, 3), "big_endian": True},
    "v3-F": {"chunks": (4, 2), "order": "F"},
    "v3-dot": {"chunks": (3, 4), "separator": "."},
    "v3-keys-of-v2": {"chunks": (3, 4), "key_encoding": "v2", "separator": "."},
    "v3-keys-of-v2-slash": {"chunks": (3, 4), "key_encoding": "v2", "separator": "/"},
    "v3-uncompressed": {"chunks": (2, 3), "compressors": None},
    "v3-gzip": {"chunks": (2, 3), "compressors": GzipCodec()},
    "v3-zstd": {"chunks": (2, 3), "compressors": ZstdCodec(level=9)},
    "v3-blosc": {"chunks": (2, 3), "compressors": BloscCodec(cname="zlib")},
    "v3-checksum": {"chunks": (2, 3), "compressors": [Crc32cCodec()]},
    "v3-shards": {"chunks": (2, 2), "shards": (4, 4)},
    "v3-shards-ragged": {"chunks": (1, 3), "shards": (3, 6)},
    "v3-shards-F": {"chunks": (2, 2), "shards": (4, 4), "order": "F"},
    "v3-shards-big-endian": {"chunks": (2, 2), "shards": (4, 4), "big_endian": True},
    "v3-shards-gzip": {"chunks": (2, 2), "shards": (4, 4), "compressors": GzipCodec()},
    "v3-fill": {"chunks": (3, 3), "fill_value": 7},
    "v3-fill-not-a-number": {"chunks": (3, 3), "fill_value": np.nan},
    "v3-one-shard": {"chunks": (2, 1), "shards": (8, 4)},
    "attributes": {"chunks": (2, 4), "attributes": {"modell": "größe", "blob": "x" * 100_000}},
    "v2": {"zarr_format": 2, "chunks": (3, 3)},
    "v2-slash": {"zarr_format": 2, "chunks": (3, 4), "separator": "/"},
    "v2-big-endian": {"zarr_format": 2, "chunks": (3, 3), "big_endian": True},
    "v2-F": {"zarr_format": 2, "chunks": (4, 2), "order": "F"},
    "v2-uncompressed": {"zarr_format": 2, "chunks": (3, 3), "compressors": None},
    "v2-zlib": {"zarr_format": 2, "chunks": (2, 3), "compressors": numcodecs.Zlib()},
    "v2-gzip": {"zarr_format": 2, "chunks": (2, 3), "compressors": numcodecs.GZip()},
    "v2-blosc": {"zarr_format": 2, "chunks": (2, 3), "compressors": numcodecs.Blosc("lz4")},
    "v2-lz4": {"zarr_format": 2, "chunks": (2, 3), "compressors": numcodecs.LZ4()},
    "v2-bz2": {"zarr_format": 2, "chunks": (2, 3), "compressors": numcodecs.BZ2()},
    "v2-lzma": {"zarr_format": 2, "chunks": (2, 3), "compressors": numcodecs.LZMA()},
    "v2-zstd": {"zarr_format": 2, "chunks": (2, 3), "compressors": numcodecs.Zstd()},
    "v2-delta": {"zarr_format": 2, "chunks": (2, 4), "filters": [numcodecs.Delta("<f4")]},
    "v2-F-slash-big-endian": {
        "zarr_format": 2,
        "chunks": (3, 3),
        "order": "F",
        "separator": "/",
        "big_endian": True,
    },
    "v2-fill-infinite": {"zarr_format": 2, "chunks": (3, 3), "fill_value": -np.inf},
    "v2-null-fill": {"zarr_format": 2, "chunks": (2, 4), "fill_value": None},
    "v2-shuffle": {"zarr_format": 2, "chunks": (2, 4), "filters": [numcodecs.Shuffle(4)]},
}
"""Ways to store the same numbers."""
