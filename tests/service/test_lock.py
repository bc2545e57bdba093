"""The state directory belongs to one service, and to one user."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from service import lock

if TYPE_CHECKING:
    from pathlib import Path


def mode(directory: Path) -> int:
    return stat.S_IMODE(directory.stat().st_mode)


@pytest.mark.parametrize("before", [None, 0o755, 0o777])
def test_only_the_owner_can_enter(tmp_path: Path, before: int | None) -> None:
    state = tmp_path / "state"
    if before is not None:
        state.mkdir()
        state.chmod(before)
    with lock.own(state):
        assert mode(state) == 0o700


def test_a_directory_that_users_share_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    lock.make_private(tmp_path)
    assert mode(tmp_path) == 0o777 | stat.S_ISVTX


def test_a_directory_of_somebody_else_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setattr(lock.os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    lock.make_private(tmp_path)
    assert mode(tmp_path) == 0o755
