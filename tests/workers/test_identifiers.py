"""Row identifiers: what shows, or fails to show, that rows of two arrays belong together."""

from __future__ import annotations

import shutil
import warnings
from typing import TYPE_CHECKING, Any

import numcodecs
import numpy as np
import pytest
import zarr
from zarr_cases import BASE

from workers.errors import ProblemError
from workers.identifiers import check_identifiers, check_metadata, read_identifiers
from workers.references import Reference, RowRange

if TYPE_CHECKING:
    from zarr_cases import Lab

NAMES = ["cat", "dog", "größe", "", "日本", "a b"]


def write_texts(lab: Lab, path: str, zarr_format: Any, texts: list[str] | None = None) -> None:
    """Write strings of any length."""
    texts = NAMES if texts is None else texts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr says that the codec of such strings is not in its standard
        array = zarr.create_array(
            lab.directory / path,
            shape=(len(texts),),
            chunks=(4,),
            dtype=str,
            zarr_format=zarr_format,
            config={"write_empty_chunks": True},
        )
        array[:] = np.array(texts, object)


def read(lab: Lab, path: str, rows: tuple[int, int] | None = None, name: str = "x") -> np.ndarray:
    return read_identifiers(lab.roots, Reference("lab", path, RowRange(*rows) if rows else None), name)


def judge(lab: Lab, path: str, rows: int, wanted: tuple[int, int] | None = None) -> None:
    """Check what metadata alone shows."""
    check_metadata(lab.roots, Reference("lab", path, RowRange(*wanted) if wanted else None), "y", rows)


def problem(lab: Lab, path: str, rows: tuple[int, int] | None = None) -> ProblemError:
    with pytest.raises(ProblemError) as caught:
        read(lab, path, rows, "y")
    assert str(lab.directory) not in str(caught.value)
    assert "ids of y" in caught.value.detail or caught.value.slug == "path-outside-root"
    return caught.value


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "i8", "u8"])
def test_integers_are_read(lab: Lab, dtype: str, zarr_format: int) -> None:
    values = np.array([5, 3, 0, 9, 1], dtype)
    lab.write("ids", values, chunks=(2,), zarr_format=zarr_format, big_endian=dtype not in ("i1", "u1"))
    assert read(lab, "ids").tolist() == [5, 3, 0, 9, 1]
    assert read(lab, "ids", (1, 4)).tolist() == [3, 0, 9]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_strings_are_read(lab: Lab, zarr_format: int) -> None:
    lab.write("fixed", np.array(NAMES), chunks=(4,), zarr_format=zarr_format, fill_value="")
    lab.write(
        "bytes",
        np.array([name.encode() for name in NAMES]),
        chunks=(4,),
        zarr_format=zarr_format,
        fill_value=b"",
    )
    write_texts(lab, "any length", zarr_format)
    for path in ("fixed", "bytes", "any length"):
        judge(lab, path, len(NAMES))
        assert read(lab, path).tolist() == NAMES
        assert read(lab, path, (2, 5)).tolist() == NAMES[2:5]
    check_identifiers(read(lab, "fixed"), read(lab, "any length"))
    check_identifiers(read(lab, "bytes"), read(lab, "any length"))


def test_where_there_are_none(lab: Lab) -> None:
    found = problem(lab, "ids")
    assert (found.slug, found.pointer) == ("unknown-array", "/ids/y/path")
    found = problem(lab, "../ids")
    assert (found.slug, found.pointer) == ("path-outside-root", "/ids/y/path")


def test_a_matrix_does_not_identify_rows(lab: Lab) -> None:
    lab.write("ids", BASE.astype(np.int64))
    found = problem(lab, "ids")
    assert (found.slug, found.pointer) == ("invalid-request", "/ids/y/path")


@pytest.mark.parametrize("values", [np.arange(4.0), np.ones(4, bool), np.ones(4, complex), np.zeros(4, "M8[s]")])
def test_other_types_do_not_identify_rows(lab: Lab, values: np.ndarray) -> None:
    lab.write("ids", values)
    found = problem(lab, "ids")
    assert (found.slug, found.pointer) == ("unsupported-dtype", "/ids/y/path")


@pytest.mark.parametrize("rows", [(0, 7), (-1, 2), (5, 9), (4, 2)])
def test_rows_without_identifiers(lab: Lab, rows: tuple[int, int]) -> None:
    lab.write("ids", np.arange(6))
    found = problem(lab, "ids", rows)
    assert found.slug == "misaligned-ids"
    assert "has 6 identifiers" in found.detail


def test_metadata_is_enough_to_refuse(lab: Lab) -> None:
    for name, values in (("ids", np.arange(1, 7)), ("matrix", np.ones((6, 1), int)), ("floats", np.ones(6))):
        for entry in lab.write(name, values).iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
    judge(lab, "ids", 6)
    judge(lab, "ids", 3, (2, 5))
    cases = [
        ("matrix", 6, None, "invalid-request", "must be 1-D"),
        ("floats", 6, None, "unsupported-dtype", "dtype float64"),
        ("ids", 7, None, "misaligned-ids", "has 6 identifiers for the 7 rows of y"),
        ("ids", 5, None, "misaligned-ids", "has 6 identifiers for the 5 rows of y"),
        ("ids", 3, (4, 7), "misaligned-ids", "has 6 identifiers, but rows 4 to 7"),
        ("none", 6, None, "unknown-array", "ids of y (lab:none)"),
    ]
    for path, rows, wanted, slug, says in cases:
        with pytest.raises(ProblemError) as caught:
            judge(lab, path, rows, wanted)
        assert (caught.value.slug, caught.value.pointer) == (slug, "/ids/y/path")
        assert says in caught.value.detail


def test_absent_chunks_are_identifiers_only_if_the_request_says_so(lab: Lab) -> None:
    directory = lab.write("ids", np.arange(1, 7), chunks=(2,))
    (directory / "c/1").unlink()
    found = problem(lab, "ids")
    assert found.slug == "missing-chunks"
    assert "1 of 3 chunks absent, the first of them in c/1." in found.detail
    assert found.detail.endswith('or send "missing_chunks": "fill".')
    assert read(lab, "ids", (0, 2)).tolist() == [1, 2]
    assert read_identifiers(lab.roots, Reference("lab", "ids"), "x", "fill").tolist() == [1, 2, 0, 0, 5, 6]


def test_damaged_chunks(lab: Lab) -> None:
    directory = lab.write("ids", np.arange(100), chunks=(50,))
    (directory / "c/1").write_bytes(b"not zstd")
    assert problem(lab, "ids").slug == "corrupt-data"


def test_bytes_that_are_no_text(lab: Lab) -> None:
    lab.write("ids", np.array([b"caf\xe9"]), zarr_format=2, fill_value=b"")
    assert problem(lab, "ids").slug == "corrupt-data"


def test_codecs_of_identifiers_are_limited_too(lab: Lab) -> None:
    lab.write("ids", np.arange(3), zarr_format=2, filters=[numcodecs.FixedScaleOffset(0, 1, "i8")])
    assert problem(lab, "ids").slug == "unsupported-codec"


# ---- comparing


def refusal(x: Any, y: Any) -> str:
    with pytest.raises(ProblemError) as caught:
        check_identifiers(np.asarray(x), np.asarray(y))
    assert (caught.value.slug, caught.value.origin) == ("misaligned-ids", "data")
    return caught.value.detail


def test_equal_identifiers_are_fine() -> None:
    check_identifiers(np.array([3, 1, 2], np.int8), np.array([3, 1, 2], np.uint64))
    check_identifiers(np.array(["a", "b"]), np.array(["a", "b"], "U20"))
    check_identifiers(np.array([], int), np.array([], int))


def test_a_shuffle_is_noticed() -> None:
    detail = refusal([1, 2, 3, 4], [1, 3, 2, 4])
    assert "differ in 2 of 4 rows, first in row 1 of those compared: 2 in x, 3 in y" in detail


def test_reversed_names_are_noticed() -> None:
    assert "first in row 0 of those compared: 'a' in x, 'c' in y" in refusal(["a", "b", "c"], ["c", "b", "a"])


def test_large_integers_are_not_rounded() -> None:
    assert "9007199254740993 in x, 9007199254740992 in y" in refusal(
        np.array([2**53 + 1], np.int64), np.array([2**53], np.uint64)
    )
    refusal(np.array([-1], np.int64), np.array([2**64 - 1], np.uint64))


def test_numbers_are_not_names() -> None:
    assert "integers" in refusal([1, 2], ["1", "2"])


def test_long_names_are_cut_in_messages() -> None:
    assert len(refusal(["a" * 10_000], ["b" * 10_000])) < 500


def test_counts_must_agree() -> None:
    assert "3 identifiers of x and 2 of y" in refusal([1, 2, 3], [1, 2])
