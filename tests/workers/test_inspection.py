"""What workers look at before anything is counted: groups of rows, and distances that are the same both ways."""

from __future__ import annotations

import shutil
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st

from ordsim_core.distances import Distance
from workers import cancellation, environment, groups, symmetry
from workers.cancellation import ShardCancelled
from workers.errors import ProblemError
from workers.groups import Labels, number
from workers.inspection import GroupsTask, SymmetryTask, check_symmetry, read_groups
from workers.references import Reference, RowRange
from workers.subjects import Side, StagedSide
from workers.symmetry import find_asymmetry
from workers.tasks import StageTask, stage_side

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zarr_cases import Lab

labels = st.lists(st.integers(-3, 3), min_size=1, max_size=30)


@pytest.fixture
def worker(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """Let this process be a worker on the lab."""
    monkeypatch.setenv("ORDSIM_ROOTS", f'{{"lab": "{lab.directory}"}}')
    monkeypatch.setenv("ORDSIM_STAGING_DIRECTORY", str(lab.staging))
    caches = (environment.from_environment, groups.read_again)
    for cached in caches:
        cached.cache_clear()
    yield lab
    for cached in caches:
        cached.cache_clear()


# ---- groups


@given(labels)
def test_groups_are_numbered_as_they_appear(found: list[int]) -> None:
    made = number(np.array(found))
    names: list[int] = list(dict.fromkeys(found))
    assert made.codes.dtype == np.int64
    assert made.codes.tolist() == [names.index(label) for label in found]
    assert made.count == len(names)


@given(labels)
def test_what_groups_are_called_changes_nothing(found: list[int]) -> None:
    made = number(np.array(found))
    for other in (np.array(found, np.int8), np.array([str(label) for label in found], np.dtypes.StringDType())):
        again = number(other)
        assert (again.codes.tolist(), again.count, again.digest) == (made.codes.tolist(), made.count, made.digest)


def test_other_groups_have_another_digest() -> None:
    assert number(np.array([1, 1, 2])).digest != number(np.array([1, 2, 2])).digest


def test_codes_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        number(np.array([1, 2])).codes[0] = 5


def write_words(lab: Lab, path: str, words: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr says that the codec of such strings is not in its standard
        array = zarr.create_array(lab.directory / path, shape=(len(words),), chunks=(2,), dtype=str)
        array[:] = np.array(words, object)


@pytest.mark.parametrize("rows", [None, RowRange(1, 4)])
def test_groups_are_read_on_a_worker(worker: Lab, rows: RowRange | None) -> None:
    write_words(worker, "words", ["b", "b", "\u00e4", "b", "c"])
    found = read_groups(GroupsTask("job", 1, Labels(Reference("lab", "words", rows))))
    assert found.codes.tolist() == ([0, 0, 1, 0, 2] if rows is None else [0, 1, 0])
    again = groups.read_again(Labels(Reference("lab", "words", rows)), found.digest)
    assert again.codes.tolist() == found.codes.tolist()
    assert groups.read_again(Labels(Reference("lab", "words", rows)), found.digest) is again


def test_groups_that_changed_are_refused(worker: Lab) -> None:
    worker.write("labels", np.array([1, 1, 2]))
    reference = Reference("lab", "labels")
    digest = read_groups(GroupsTask("job", 1, Labels(reference))).digest
    shutil.rmtree(worker.directory / "labels")
    worker.write("labels", np.array([1, 2, 2]))
    with pytest.raises(ProblemError, match=r"groups \(lab:labels\) changed") as caught:
        groups.read_again(Labels(reference), digest)
    assert caught.value.slug == "corrupt-data"


@pytest.mark.parametrize(
    ("values", "rows", "slug", "pointer"),
    [
        (np.zeros((3, 2), np.int8), None, "invalid-request", "/groups/path"),
        (np.zeros(3), None, "unsupported-dtype", "/groups/path"),
        (np.zeros(3, np.int8), RowRange(0, 4), "row-count-mismatch", "/groups"),
    ],
)
def test_what_cannot_be_groups(worker: Lab, values: Any, rows: RowRange | None, slug: str, pointer: str) -> None:
    worker.write("labels", values)
    with pytest.raises(ProblemError) as caught:
        read_groups(GroupsTask("job", 1, Labels(Reference("lab", "labels", rows))))
    assert (caught.value.slug, caught.value.pointer) == (slug, pointer)
    assert "groups (lab:labels)" in caught.value.detail


def test_missing_chunks_of_groups_are_missed(worker: Lab) -> None:
    directory = worker.write("labels", np.array([1, 1, 2, 2]), chunks=(2,))
    (directory / "c" / "1").unlink()
    with pytest.raises(ProblemError) as caught:
        read_groups(GroupsTask("job", 1, Labels(Reference("lab", "labels"))))
    assert caught.value.slug == "missing-chunks"
    assert "1 of 2 chunks absent, the first of them in c/1." in caught.value.detail
    assert caught.value.detail.endswith('or send "missing_chunks": "fill".')


def test_groups_of_zeros_alone_are_not_stored_by_default_and_can_be_filled(worker: Lab) -> None:
    array = zarr.create_array(worker.directory / "labels", shape=(5,), chunks=(2,), dtype="i4")
    array[:] = 0
    reference = Reference("lab", "labels")
    found = read_groups(GroupsTask("job", 1, Labels(reference), "fill"))
    assert found.codes.tolist() == [0] * 5
    assert groups.read_again(Labels(reference), found.digest).codes.tolist() == [0] * 5


def test_groups_of_which_a_chunk_is_lost_later_are_noticed(worker: Lab) -> None:
    """Other processes read them as the first one did, and compare."""
    directory = worker.write("labels", np.array([0, 1, 1, 2]), chunks=(2,))
    reference = Reference("lab", "labels")
    digest = read_groups(GroupsTask("job", 1, Labels(reference), "fill")).digest
    (directory / "c" / "1").unlink()
    with pytest.raises(ProblemError, match="changed"):
        groups.read_again(Labels(reference), digest)


def test_absent_chunks_without_a_fill_value_are_never_filled(worker: Lab) -> None:
    array = zarr.create_array(
        worker.directory / "labels", shape=(4,), chunks=(2,), dtype="i4", zarr_format=2, fill_value=None
    )
    array[:2] = [1, 2]
    with pytest.raises(ProblemError, match="Its fill value is null") as caught:
        read_groups(GroupsTask("job", 1, Labels(Reference("lab", "labels")), "fill"))
    assert caught.value.slug == "missing-chunks"


def test_reading_groups_can_be_cancelled(worker: Lab) -> None:
    worker.write("labels", np.array([1, 2]))
    cancellation.cancel("cancelled groups", 1)
    with pytest.raises(ShardCancelled):
        read_groups(GroupsTask("cancelled groups", 1, Labels(Reference("lab", "labels"))))


# ---- symmetry


@pytest.mark.parametrize("tile", [1, 2, 3, 7, 100])
def test_every_single_asymmetry_is_found(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symmetry, "TILE", tile)
    rows = 7
    base = np.random.default_rng(3).integers(0, 9, (rows, rows))
    base = base + base.T
    assert find_asymmetry(base, lambda: None) is None
    for i in range(rows):
        for j in range(rows):
            changed = base.copy()
            changed[i, j] += 1
            found = find_asymmetry(changed, lambda: None)
            assert found == (None if i == j else found)
            if i != j:
                assert found is not None
                assert set(found) == {i, j}


def test_looking_for_asymmetries_can_be_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symmetry, "TILE", 2)
    calls = []

    def checkpoint() -> None:
        calls.append(1)
        if len(calls) == 2:
            raise ShardCancelled

    with pytest.raises(ShardCancelled):
        find_asymmetry(np.zeros((6, 6)), checkpoint)


@pytest.mark.parametrize("rows", [None, RowRange(1, 4)])
def test_asymmetric_distances_are_told_in_stored_rows(worker: Lab, rows: RowRange | None) -> None:
    values = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    worker.write("even", values)
    values[1, 3] = 7.5
    worker.write("odd", values)
    for path in ("even", "odd"):
        side = Side(Reference("lab", path, rows, rows), Distance.PRECOMPUTED, "error")
        task = SymmetryTask("job", 1, StagedSide("y", side, stage_side(StageTask("job", 1, "y", side))), "qsi (exact)")
        if path == "even":
            check_symmetry(task)
            continue
        with pytest.raises(ProblemError) as caught:
            check_symmetry(task)
    assert caught.value.slug == "asymmetric-distance"
    for words in ("y (lab:odd)", "entry (1, 3) is 7.5", "entry (3, 1) is 2.0", "qsi (exact)", "(d + d.T) / 2"):
        assert words in caught.value.detail
    cancellation.cancel("cancelled symmetry", 1)
    with pytest.raises(ShardCancelled):
        check_symmetry(replace(task, job="cancelled symmetry"))


def test_staged_distances_must_be_square(worker: Lab) -> None:
    worker.write("wide", np.zeros((3, 4)))
    with pytest.raises(ProblemError, match="3 rows and 4 columns") as caught:
        stage_side(StageTask("job", 1, "x", Side(Reference("lab", "wide"), Distance.PRECOMPUTED, "error")))
    assert (caught.value.slug, caught.value.pointer) == ("invalid-request", "/x/path")
