"""Ordinal profiles of arrays, kept on the node: comparing another array with those takes only its own."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

import numpy as np

from ordsim_core.nulls import profiles
from workers.durable import sync_file, sync_folder, try_lock
from workers.environment import from_environment
from workers.memos import MemoCache

if TYPE_CHECKING:
    from pathlib import Path

    from ordsim_core.nulls.designs import Drawn
    from ordsim_core.nulls.profiles import Profile
    from workers.measures.given import Operand
    from workers.measures.protocol import Checkpoint

DIGEST_BYTES = 32
VERSION = 1
"""Of what a profile says: kept ones of another version are not looked at."""
FOLDER = "profiles"
POLL_SECONDS = 0.05
IN_MEMORY = 8
"""Profiles that a process holds beside those on the disk."""

_recent = MemoCache(IN_MEMORY)


def profile(one: Operand, drawn: Drawn, precision: str, checkpoint: Checkpoint) -> Profile:
    """Give an array's profile on a design: made once on this node, whichever process and whichever job needs it.

    Parameters
    ----------
    one : Operand
    drawn : Drawn
    precision : str
        With which the array is prepared.
    checkpoint : callable
        Called while waiting and working; may raise to give up.
    """
    design = drawn.design
    what = (VERSION, one.fingerprint, one.distance.value, precision, design.stream.value, design.seed, design.rows)
    text = "\0".join(str(part) for part in (*what, design.members, design.start, design.stop))
    key = hashlib.sha256(text.encode()).hexdigest()[:32]
    found: Profile = _recent.get(key, lambda: _kept_or_made(key, one, drawn, checkpoint))
    return found


def _kept_or_made(key: str, one: Operand, drawn: Drawn, checkpoint: Checkpoint) -> Profile:
    folder = from_environment().staging_directory / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path, lock = folder / f"{key}.npy", folder / f"{key}.lock"
    if (kept := _read(path)) is not None and kept.design == drawn.design:
        return kept
    # Not one blocking call: a waiting job can be cancelled too.
    while (file := try_lock(lock)) is None:
        checkpoint()
        time.sleep(POLL_SECONDS)
    with file:
        try:
            kept = _read(path)
            if kept is None or kept.design != drawn.design:
                kept = profiles.of_space(one.space(), drawn, checkpoint)
                _write(path, kept)
            return kept
        finally:
            lock.unlink(missing_ok=True)


def _read(path: Path) -> Profile | None:
    """Read a profile; None if there is none, or none that is whole."""
    try:
        kept = np.load(path, allow_pickle=False)
        digest, data = kept[:DIGEST_BYTES], kept[DIGEST_BYTES:]
        if hashlib.sha256(data.tobytes()).digest() != digest.tobytes():
            return None
        return profiles.from_bytes(data)
    except (OSError, ValueError, EOFError, IndexError, TypeError):
        return None


def _write(path: Path, made: Profile) -> None:
    data = profiles.to_bytes(made)
    digest = np.frombuffer(hashlib.sha256(data.tobytes()).digest(), np.uint8)
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.save(file, np.concatenate((digest, data)), allow_pickle=False)
        sync_file(file)
    part.replace(path)
    sync_folder(path.parent)
