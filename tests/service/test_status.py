"""What a job's status says, and what it leaves out once the job is final."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from service.status import status_document
from service.store import JobStore
from service.submissions import NewJob

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

END: dict[str, Callable[[JobStore], object]] = {
    "successful": lambda store: store.succeed("a", "{}"),
    "failed": lambda store: store.fail("a", {"detail": "why"}),
    "dismissed": lambda store: store.dismiss("a"),
}


@pytest.mark.parametrize("end", END)
def test_a_final_status_does_not_depend_on_the_moment(tmp_path: Path, end: str) -> None:
    with closing(JobStore(tmp_path / "jobs.sqlite3")) as store:
        store.submit(NewJob(id="a", process="compare", request={}))
        store.claim()
        assert [status_document(store.get("a"), workers)["ordsim"]["workers"] for workers in (0, 2)] == [0, 2]
        END[end](store)
        job = store.get("a")
    assert status_document(job, 0) == status_document(job, 2)
    assert status_document(job, 2)["ordsim"]["workers"] == 0


def test_no_answer_is_taken_from_another_job_yet(tmp_path: Path) -> None:
    with closing(JobStore(tmp_path / "jobs.sqlite3")) as store:
        job, _ = store.submit(NewJob(id="a", process="compare", request={}))
    assert status_document(job, 1)["ordsim"]["reusedFrom"] is None
