"""Which rows are compared: by number, by identifiers and without holes, against plain numpy on the same rows."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zarr_cases import Lab

from ordsim_core.distances import Distance
from workers import arrays, cancellation, environment, groups, selecting, spaces, staging
from workers.cancellation import ShardCancelled
from workers.errors import ProblemError
from workers.groups import Labels
from workers.inspection import GroupsTask, SelectionTask, read_groups, select_rows
from workers.memos import MemoCache
from workers.references import Reference, RowRange
from workers.selecting import Chosen, select
from workers.selection import Candidate, Selection
from workers.subjects import Side, StagedSide, stored_row
from workers.tasks import StageTask, stage_side

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VALUES = np.random.default_rng(3).standard_normal((9, 4)).astype(np.float32)


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """Let this process be a worker with an empty staging directory and nothing remembered."""
    lab = Lab(tmp_path / "data", tmp_path / "outside", tmp_path / "staging")
    lab.directory.mkdir()
    monkeypatch.setenv("ORDSIM_ROOTS", f'{{"lab": "{lab.directory}"}}')
    monkeypatch.setenv("ORDSIM_STAGING_DIRECTORY", str(lab.staging))
    caches = (environment.from_environment, groups.read_again, spaces.space_cache)
    for cached in caches:
        cached.cache_clear()
    forget()
    yield lab
    for cached in caches:
        cached.cache_clear()


def forget() -> None:
    """Be another process, which has found no rows yet."""
    selecting._kept = MemoCache(4)


def candidate(name: str, **options: Any) -> Candidate:
    rows = options.pop("rows", None)
    reference = Reference("lab", options.pop("path", name), rows)
    if "ids" in options:
        options["identifiers"] = Reference("lab", options.pop("ids"), rows)
    return Candidate(name, reference, **options)


def write_texts(lab: Lab, path: str, texts: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr says that the codec of such strings is not in its standard
        array = zarr.create_array(lab.directory / path, shape=(len(texts),), chunks=(3,), dtype=str)
        array[:] = np.array(texts, object)


def pair(**options: Any) -> Selection:
    """x and y with identifiers."""
    both = {name: options.pop(name, {}) for name in ("x", "y")}
    ids = options.pop("ids", True)
    found = tuple(candidate(name, **({"ids": f"{name} ids"} if ids else {}), **both[name]) for name in both)
    return Selection(found, **options)


def refused(selection: Selection) -> ProblemError:
    with pytest.raises(ProblemError) as caught:
        select(selection, lambda: None)
    return caught.value


def staged(selection: Selection, place: int, distance: Distance = Distance.EUCLIDEAN) -> np.ndarray:
    """What a worker that knows no more than the digest has of an array."""
    digest = select_rows(SelectionTask("job", 1, selection)).digest
    forget()
    one = selection.arrays[place]
    columns = one.reference.rows if one.distances else None
    reference = Reference(one.reference.root, one.reference.path, one.reference.rows, columns)
    side = Side(reference, distance, selection.missing_chunks, chosen=Chosen(selection, place, digest))
    return np.array(
        staging.load(environment.from_environment().staging_directory, stage_side(StageTask("job", 1, one.name, side)))
    )


# ---- joined by identifiers


@pytest.mark.parametrize("kind", ["integers", "texts"])
def test_rows_are_joined_in_the_order_of_the_first_array(worker: Lab, kind: str) -> None:
    x_ids, y_ids = [7, 3, 9, 1, 4], [4, 8, 7, 9, 0, 3]
    worker.write("x", VALUES[:5], chunks=(2, 3))
    worker.write("y", VALUES[:6] * 2, chunks=(4, 2))
    for name, ids in (("x ids", x_ids), ("y ids", y_ids)):
        if kind == "texts":
            write_texts(worker, name, [f"ü{one}" for one in ids])
        else:
            worker.write(name, np.array(ids, "u1" if name[0] == "x" else ">i8"), chunks=(2,))
    found = select_rows(SelectionTask("job", 1, pair(join=True)))
    assert (found.rows, found.selected, found.unmatched, found.not_finite) == (4, (5, 6), (1, 2), 0)
    assert [found.dropped(place) for place in (0, 1)] == [1, 2]
    wanted = [one for one in x_ids if one in y_ids]
    assert np.array_equal(staged(pair(join=True), 0), VALUES[[x_ids.index(one) for one in wanted]])
    assert np.array_equal(staged(pair(join=True), 1), VALUES[[y_ids.index(one) for one in wanted]] * 2)


@given(data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_join_of_three_arrays_is_that_of_dictionaries(worker: Lab, data: st.DataObject) -> None:
    edge = st.sampled_from([0, 1, 2**53, 2**53 + 1, 2**63 - 1])
    drawn = [data.draw(st.lists(st.integers(0, 12) | edge, min_size=1, max_size=12, unique=True)) for _ in range(3)]
    dtypes = [data.draw(st.sampled_from(["i8", "u8"])) for _ in drawn]
    for place, (ids, dtype) in enumerate(zip(drawn, dtypes, strict=True)):
        write_again(worker, f"ids {place}", np.array(ids, dtype), chunks=(data.draw(st.integers(1, 5)),))
        write_again(worker, f"array {place}", np.arange(len(ids), dtype=np.int32)[:, None], chunks=(3, 1))
    found = select(
        Selection(tuple(candidate(f"array {place}", ids=f"ids {place}") for place in range(3)), join=True),
        lambda: None,
    )
    shared = [one for one in drawn[0] if one in drawn[1] and one in drawn[2]]
    assert [kept.rows.tolist() for kept in found.arrays] == [[ids.index(one) for one in shared] for ids in drawn]


def write_again(lab: Lab, path: str, values: Any, **dialect: Any) -> None:
    import shutil  # noqa: PLC0415

    shutil.rmtree(lab.directory / path, ignore_errors=True)
    lab.write(path, values, **dialect)


def test_identifiers_of_both_signs_and_64_bits_stay_apart(worker: Lab) -> None:
    worker.write("x", VALUES[:3])
    worker.write("y", VALUES[:3])
    worker.write("x ids", np.array([2**64 - 1, 2**63, 5], "u8"))
    worker.write("y ids", np.array([-1, 5, -(2**63)], "i8"))
    found = select(pair(join=True), lambda: None)
    assert [kept.rows.tolist() for kept in found.arrays] == [[2], [1]]


@pytest.mark.parametrize(("side", "rows"), [("x", "rows 1 and 3"), ("y", "rows 0 and 2")])
def test_identifiers_that_repeat_are_refused_for_a_join(worker: Lab, side: str, rows: str) -> None:
    for name in ("x", "y"):
        worker.write(name, VALUES[:5])
        worker.write(f"{name} ids", np.arange(5))
    write_again(worker, f"{side} ids", np.array([0, 8, 1, 8, 0] if side == "x" else [8, 1, 8, 2, 3]))
    error = refused(pair(join=True))
    assert error.slug == "duplicate-ids"
    expected = (
        "The identifier 0 of x stands in the rows 0 and 4"
        if side == "x"
        else "The identifier 8 of y stands in the rows 0 and 2"
    )
    assert expected in error.detail
    # Rows are named as they are stored.
    window = RowRange(1, 4)
    error = refused(pair(join=True, **{name: {"rows": window} for name in ("x", "y")})) if side == "x" else error
    assert rows in error.detail


def test_identifiers_that_repeat_on_both_sides_pass_a_check_and_are_counted(worker: Lab) -> None:
    for name in ("x", "y"):
        worker.write(name, VALUES[:5])
        worker.write(f"{name} ids", np.array([1, 1, 2, 3, 3]))
    found = select_rows(SelectionTask("job", 1, pair()))
    assert (found.repeated, found.rows, found.unmatched) == (2, 5, (0, 0))
    write_again(worker, "y ids", np.array([1, 1, 3, 2, 3]))
    error = refused(pair())
    assert error.slug == "misaligned-ids"
    assert "first in row 2 of those compared: 2 in x, 3 in y" in error.detail


def test_integers_are_not_joined_with_texts(worker: Lab) -> None:
    for name in ("x", "y"):
        worker.write(name, VALUES[:2])
    worker.write("x ids", np.array([1, 2]))
    write_texts(worker, "y ids", ["1", "2"])
    assert refused(pair(join=True)).slug == "misaligned-ids"


def test_an_array_that_grew_has_no_identifiers_for_its_new_rows(worker: Lab) -> None:
    worker.write("x", VALUES[:5])
    worker.write("y", VALUES[:4])
    for name in ("x", "y"):
        worker.write(f"{name} ids", np.arange(4))
    error = refused(pair(join=True))
    assert error.slug == "misaligned-ids"
    assert "4 identifiers for the 5 rows of x" in error.detail


def test_nothing_in_common_is_an_empty_selection(worker: Lab) -> None:
    for name in ("x", "y"):
        worker.write(name, VALUES[:3])
    worker.write("x ids", np.array([1, 2, 3]))
    worker.write("y ids", np.array([4, 5, 6]))
    assert select(pair(join=True, on_non_finite="drop"), lambda: None).findings.rows == 0


# ---- without rows or columns that are not finite


def holed(places: list[tuple[int, int]], value: float = np.nan, shape: tuple[int, int] = (9, 4)) -> np.ndarray:
    values = np.random.default_rng(4).standard_normal(shape).astype(np.float32)
    for place in places:
        values[place] = value
    return values


@pytest.mark.parametrize("budget", [1, 40, 64 * 1024**2])
@pytest.mark.parametrize("chunks", [(2, 3), (9, 1)])
def test_rows_that_are_not_finite_leave_both_arrays(
    worker: Lab, monkeypatch: pytest.MonkeyPatch, chunks: tuple[int, int], budget: int
) -> None:
    monkeypatch.setattr(arrays, "BLOCK_BYTES", budget)
    x, y = holed([(1, 0), (1, 3), (8, 2)]), holed([(4, 1)], -np.inf)
    worker.write("x", x, chunks=chunks)
    worker.write("y", y, chunks=(4, 4))
    selection = pair(ids=False, on_non_finite="drop")
    found = select_rows(SelectionTask("job", 1, selection))
    keep = np.isfinite(x).all(axis=1) & np.isfinite(y).all(axis=1)
    assert (found.rows, found.not_finite, found.dropped(0), found.dropped(1)) == (6, 3, 3, 3)
    assert np.array_equal(staged(selection, 0), x[keep])
    assert np.array_equal(staged(selection, 1), y[keep])


@pytest.mark.parametrize("budget", [1, 40, 64 * 1024**2])
def test_columns_that_are_not_finite_leave_their_side(
    worker: Lab, monkeypatch: pytest.MonkeyPatch, budget: int
) -> None:
    monkeypatch.setattr(arrays, "BLOCK_BYTES", budget)
    x, y = holed([(1, 0), (3, 2)]), holed([(8, 3)], np.inf)
    worker.write("x", x, chunks=(4, 1))
    worker.write("y", y, chunks=(4, 3))
    selection = pair(ids=False, on_non_finite="drop-columns")
    found = select_rows(SelectionTask("job", 1, selection))
    assert (found.rows, found.columns_dropped) == (9, (2, 1))
    assert np.array_equal(staged(selection, 0), x[:, [1, 3]])
    assert np.array_equal(staged(selection, 1), y[:, :3])
    # Rows that are not compared do not count.
    rows = {"rows": RowRange(2, 8)}
    part = pair(ids=False, on_non_finite="drop-columns", x=rows, y=rows)
    assert select_rows(SelectionTask("job", 1, part)).columns_dropped == (1, 0)
    assert np.array_equal(staged(part, 0), x[2:8, [0, 1, 3]])


def test_columns_that_are_all_not_finite_leave_nothing(worker: Lab) -> None:
    worker.write("x", holed([(row, row) for row in range(4)]))
    worker.write("y", VALUES)
    error = refused(pair(ids=False, on_non_finite="drop-columns"))
    assert error.slug == "non-finite-input"
    assert "x (lab:x)" in error.detail


def test_only_joined_rows_are_looked_at(worker: Lab) -> None:
    x, y = holed([(0, 0), (5, 1)]), holed([(2, 2)])
    worker.write("x", x, chunks=(2, 2))
    worker.write("y", y, chunks=(2, 2))
    worker.write("x ids", np.arange(9))
    worker.write("y ids", np.array([50, 8, 7, 6, 5, 4, 3, 2, 51]))
    selection = pair(join=True, on_non_finite="drop")
    found = select_rows(SelectionTask("job", 1, selection))
    assert (found.rows, found.unmatched, found.not_finite) == (5, (2, 2), 2)
    assert np.array_equal(staged(selection, 0), x[[2, 3, 4, 6, 8]])
    assert np.array_equal(staged(selection, 1), y[[7, 6, 5, 3, 1]])


def test_distances_lose_columns_with_rows(worker: Lab) -> None:
    given = np.abs(VALUES[:, None] - VALUES[None]).sum(axis=2)
    missing = given.copy()
    missing[3], missing[:, 3] = np.nan, np.nan  # a row that was never measured
    missing[5, 7] = np.inf
    worker.write("x", missing, chunks=(2, 4))
    worker.write("y", holed([(0, 1)]))
    selection = pair(ids=False, on_non_finite="drop", x={"distances": True})
    found = select_rows(SelectionTask("job", 1, selection))
    kept = [1, 2, 4, 6, 7, 8]
    assert (found.rows, found.not_finite) == (6, 3)
    assert np.array_equal(staged(selection, 0, Distance.PRECOMPUTED), given[np.ix_(kept, kept)])
    windowed = pair(
        ids=False, on_non_finite="drop", x={"distances": True, "rows": RowRange(2, 9)}, y={"rows": RowRange(2, 9)}
    )
    kept = [2, 4, 6, 7, 8]
    window = Selection(
        tuple(
            Candidate(
                one.name,
                Reference("lab", one.name, RowRange(2, 9), RowRange(2, 9) if one.distances else None),
                one.distances,
            )
            for one in windowed.arrays
        ),
        on_non_finite="drop",
    )
    assert np.array_equal(staged(window, 0, Distance.PRECOMPUTED), given[np.ix_(kept, kept)])


def test_distances_follow_a_join(worker: Lab) -> None:
    given = np.abs(VALUES[:, None] - VALUES[None]).sum(axis=2)
    worker.write("x", VALUES)
    worker.write("y", given, chunks=(4, 2))
    worker.write("x ids", np.arange(9))
    worker.write("y ids", np.array([3, 1, 8, 20, 21, 22, 23, 24, 25]))
    selection = pair(join=True, y={"distances": True})
    order = [1, 0, 2]
    assert np.array_equal(staged(selection, 0), VALUES[[1, 3, 8]])
    assert np.array_equal(staged(selection, 1, Distance.PRECOMPUTED), given[np.ix_(order, order)])


def test_what_was_looked_through_is_not_looked_through_again(worker: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    worker.write("x", holed([(1, 0)]))
    worker.write("y", VALUES)
    selection = pair(ids=False, on_non_finite="drop")
    first = select(selection, lambda: None)

    def never(*_: Any) -> Any:
        raise AssertionError("read again")

    forget()
    with monkeypatch.context() as patch:
        patch.setattr(arrays.OpenedArray, "blocks", never)
        assert select(selection, lambda: None).findings == first.findings
    write_again(worker, "x", holed([(2, 0)]))
    forget()
    assert select(selection, lambda: None).arrays[0].rows.tolist() == [0, 1, 3, 4, 5, 6, 7, 8]


# ---- by number


def test_rows_are_taken_by_number_in_that_order(worker: Lab) -> None:
    worker.write("x", VALUES, chunks=(2, 2))
    worker.write("y", VALUES + 1)
    worker.write("chosen", np.array([6, 0, 3, 8], "u2"))
    index = Reference("lab", "chosen")
    selection = pair(ids=False, x={"index": index}, y={"rows": RowRange(1, 5)})
    assert not selection.plain
    assert np.array_equal(staged(selection, 0), VALUES[[6, 0, 3, 8]])
    assert np.array_equal(staged(selection, 1), VALUES[1:5] + 1)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([0, -1], "row -1 in entry 1, but the rows are 0 to 8"),
        ([9], "row 9 in entry 0"),
        ([4, 1, 4], "row 4 in the entries 0 and 2"),
    ],
)
def test_numbers_that_are_no_rows_are_refused(worker: Lab, numbers: list[int], words: str) -> None:
    worker.write("x", VALUES)
    worker.write("y", VALUES)
    worker.write("chosen", np.array(numbers))
    options = {"index": Reference("lab", "chosen"), "index_pointer": "/rows"}
    error = refused(pair(ids=False, x=options, y=options))
    assert (error.slug, error.pointer) == ("invalid-request", "/rows/index/path")
    assert words in error.detail


def test_identifiers_follow_the_numbers(worker: Lab) -> None:
    worker.write("x", VALUES)
    worker.write("y", VALUES[:4])
    worker.write("chosen", np.array([6, 0, 3]))
    worker.write("x ids", np.arange(10, 19))
    worker.write("y ids", np.array([13, 16, 1, 2]))
    selection = pair(join=True, x={"index": Reference("lab", "chosen")})
    found = select(selection, lambda: None)
    assert [kept.rows.tolist() for kept in found.arrays] == [[6, 3], [1, 0]]
    assert found.positions.tolist() == [0, 2]
    assert found.findings.unmatched == (1, 2)


# ---- what goes with the rows


def test_groups_are_those_of_the_compared_rows(worker: Lab) -> None:
    worker.write("x", holed([(2, 0)]))
    worker.write("y", VALUES)
    worker.write("x ids", np.arange(9))
    worker.write("y ids", np.array([8, 7, 6, 5, 0, 2, 31, 32, 33]))
    worker.write("labels", np.array([3, 3, 9, 9, 4, 4, 4, 3, 8]))
    selection = pair(join=True, on_non_finite="drop")
    digest = select_rows(SelectionTask("job", 1, selection)).digest
    wanted = Labels(Reference("lab", "labels"), Chosen(selection, 0, digest))
    forget()
    found = read_groups(GroupsTask("job", 1, wanted))
    assert found.codes.tolist() == groups.number(np.array([3, 4, 4, 3, 8])).codes.tolist()
    assert groups.read_again(wanted, found.digest).digest == found.digest
    worker.write("few", np.array([3, 3, 9]))
    with pytest.raises(ProblemError, match="none for row 8") as caught:
        read_groups(GroupsTask("job", 1, Labels(Reference("lab", "few"), Chosen(selection, 0, digest))))
    assert caught.value.slug == "row-count-mismatch"


def test_errors_name_rows_as_they_are_stored(worker: Lab) -> None:
    worker.write("x", VALUES)
    worker.write("y", VALUES)
    worker.write("chosen", np.array([6, 0, 3]))
    options = {"index": Reference("lab", "chosen")}
    selection = pair(ids=False, x=options, y=options)
    digest = select_rows(SelectionTask("job", 1, selection)).digest
    side = Side(Reference("lab", "x"), Distance.EUCLIDEAN, "error", chosen=Chosen(selection, 0, digest))
    assert [stored_row(side, row) for row in range(3)] == [6, 0, 3]


def test_a_worker_that_finds_other_rows_says_so(worker: Lab) -> None:
    worker.write("x", holed([(2, 0)]))
    worker.write("y", VALUES)
    selection = pair(ids=False, on_non_finite="drop")
    digest = select_rows(SelectionTask("job", 1, selection)).digest
    write_again(worker, "x", holed([(3, 0)]))
    forget()
    side = Side(Reference("lab", "x"), Distance.EUCLIDEAN, "error", chosen=Chosen(selection, 0, digest))
    with pytest.raises(ProblemError, match="changed while the job was running") as caught:
        stage_side(StageTask("job", 1, "x", side))
    assert caught.value.slug == "corrupt-data"


def test_another_node_stages_the_same_rows_again(worker: Lab) -> None:
    from workers.subjects import LoadedSide  # noqa: PLC0415

    x = holed([(2, 0)])
    worker.write("x", x)
    worker.write("y", VALUES)
    selection = pair(ids=False, on_non_finite="drop")
    digest = select_rows(SelectionTask("job", 1, selection)).digest
    side = Side(Reference("lab", "x"), Distance.EUCLIDEAN, "error", chosen=Chosen(selection, 0, digest))
    found = stage_side(StageTask("job", 1, "x", side))
    for file in worker.staging.iterdir():
        file.unlink()
    forget()
    again = LoadedSide(StagedSide("x", side, found), lambda: None).values()
    assert np.array_equal(again, np.delete(x, 2, axis=0))


def test_chunks_that_are_not_stored_are_missed_or_filled(worker: Lab) -> None:
    directory = worker.write("x", holed([(2, 0)]), chunks=(3, 4))
    (directory / "c" / "1" / "0").unlink()
    worker.write("y", VALUES)
    assert refused(pair(ids=False, on_non_finite="drop")).slug == "missing-chunks"
    filled = pair(ids=False, on_non_finite="drop", missing_chunks="fill")
    assert select_rows(SelectionTask("job", 1, filled)).not_finite == 1
    assert (staged(filled, 0)[2:5] == 0).all()


def test_selecting_can_be_cancelled(worker: Lab) -> None:
    worker.write("x", VALUES)
    worker.write("y", VALUES)
    cancellation.cancel("cancelled rows", 1)
    with pytest.raises(ShardCancelled):
        select_rows(SelectionTask("cancelled rows", 1, pair(ids=False, on_non_finite="drop")))
