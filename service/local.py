"""Arrays on this machine as the arguments of a command: files, .zarr directories, root:path."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.client import DEFAULT_URL, reference
from workers.sources.kinds import KEYED, READABLE, kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

ZARR_METADATA = ("zarr.json", ".zarray")


@dataclass(frozen=True, slots=True)
class Source:
    """Where an argument points.

    Attributes
    ----------
    reference : dict
        How the service will name the array.
    root : (str, Path) or None
        A data root to be made for it; None when it lies below one that was given.
    file : Path or None
        A file that is to be imported into that root first.
    key : str or None
        Which array of that file.
    """

    reference: dict[str, Any]
    root: tuple[str, Path] | None = None
    file: Path | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Glance:
    """What the head of a file, or an array's metadata, says."""

    name: str
    shape: tuple[int, ...]
    dtype: str


def glance(source: Source) -> Glance | None:
    """Look at the head of an array on this machine; None of what only the service knows, or can judge."""
    import numpy as np  # noqa: PLC0415 - for private services only

    from workers import metadata  # noqa: PLC0415

    if source.root is None:
        return None
    if source.file is None:
        folder = source.root[1] / source.reference["path"]
        document = metadata.find_document(folder, folder.name, None)
        found = None if document is None else metadata.parse(document, folder.name, None)
        return None if found is None else Glance(folder.name, found.shape, found.dtype)
    if source.file.suffix != ".npy":
        return None
    try:
        array = np.load(source.file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):  # the import says what is wrong with it
        return None
    return Glance(source.file.name, array.shape, str(array.dtype))


def require_local(x: str, y: str, roots: Mapping[str, Path]) -> None:
    """Refuse two arguments that only a service could know.

    Raises
    ------
    ValueError
        If both look like root:path, neither exists here, and no root of that name was given.
    """
    for text in (x, y):
        root, colon, path = text.partition(":")
        if not (root and colon and path) or root in roots or split(text)[0].exists():
            return
    raise ValueError(
        f"{x} and {y}: there is no such file or directory. For arrays of a running service add its address, e.g. "
        f"--url {DEFAULT_URL}; for what is here name {READABLE} or .zarr directories, or add --root "
        f"{x.partition(':')[0]}=DIR"
    )


def locate(text: str, name: str, roots: Mapping[str, Path], imports: Path) -> Source:
    """Find what an argument means.

    Parameters
    ----------
    text : str
        The argument.
    name : str
        ``"x"``, ``"y"``, ``"groups"``, ``"x-ids"`` or ``"y-ids"``; a root that is made is called after it.
    roots : mapping of str to Path
        Roots that were given.
    imports : Path
        Where a root for imported files may be made.

    Raises
    ------
    ValueError
        If it is neither an array nor the name of one.
    """
    (path, key), own = split(text), f"local-{name}"
    if not path.exists():
        root, colon, _ = text.partition(":")
        if colon and root in roots:
            return Source(reference(text))
        raise ValueError(
            f"{text}: there is no such file or directory. Without --url, name a file, FILE{KEYED}KEY or a .zarr "
            "directory, or root:path with --root"
        )
    path = path.resolve()
    if path.is_dir():
        if not any((path / metadata).is_file() for metadata in ZARR_METADATA):
            raise ValueError(
                f"{text}: this directory is not a zarr array: it has neither {' nor '.join(ZARR_METADATA)}"
            )
        return Source({"root": own, "path": path.name}, (own, path.parent))
    if kind_of(path) is None:
        raise ValueError(f"{text}: this is of no known format; what can be read are zarr arrays and {READABLE}")
    return Source({"root": own, "path": "array"}, (own, imports / own), path, key)


def split(text: str) -> tuple[Path, str | None]:
    """A file, and which array of it is meant, after ``::``; all of it is a name if there is such a file."""
    name, separator, key = text.partition(KEYED)
    whole = Path(text)
    return (Path(name), key) if separator and key and not whole.exists() else (whole, None)
