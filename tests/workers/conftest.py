"""Fixtures of the data side: a root for arrays, and a directory to stage them into."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from zarr_cases import Lab

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """An empty root named lab, with a folder beside it that is out of bounds."""
    directory = tmp_path / "lab"
    directory.mkdir()
    (tmp_path / "outside").mkdir()
    return Lab(directory, tmp_path / "outside", tmp_path / "staging")
