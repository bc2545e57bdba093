"""Arrays on this machine as the arguments of a command: .npy files, .zarr directories, root:path."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.client import reference

if TYPE_CHECKING:
    from collections.abc import Mapping

ZARR_METADATA = ("zarr.json", ".zarray")
NPY_MAGIC = b"\x93NUMPY"


@dataclass(frozen=True, slots=True)
class Source:
    """Where an argument points.

    Attributes
    ----------
    reference : dict
        How the service will name the array.
    root : (str, Path) or None
        A data root to be made for it; None when it lies below one that was given.
    npy : Path or None
        A file that is to be imported into that root first.
    """

    reference: dict[str, Any]
    root: tuple[str, Path] | None = None
    npy: Path | None = None


def locate(text: str, name: str, roots: Mapping[str, Path], imports: Path) -> Source:
    """Find what an argument means.

    Parameters
    ----------
    text : str
        The argument.
    name : str
        ``"x"`` or ``"y"``; a root that is made is called after it.
    roots : mapping of str to Path
        Roots that were given.
    imports : Path
        Where a root for imported files may be made.

    Raises
    ------
    ValueError
        If it is nothing that can be compared.
    """
    path, own = Path(text), f"local-{name}"
    if not path.exists():
        root, colon, _ = text.partition(":")
        if colon and root in roots:
            return Source(reference(text))
        raise ValueError(
            f"{text}: there is no such file or directory. Without --url, name a .npy file or a .zarr directory, "
            "or root:path with --root"
        )
    path = path.resolve()
    if path.is_dir():
        if not any((path / metadata).is_file() for metadata in ZARR_METADATA):
            raise ValueError(
                f"{text}: this directory is not a zarr array: it has neither {' nor '.join(ZARR_METADATA)}"
            )
        return Source({"root": own, "path": path.name}, (own, path.parent))
    with path.open("rb") as file:
        if file.read(len(NPY_MAGIC)) != NPY_MAGIC:
            raise ValueError(f"{text}: this is not a .npy file; what can be compared are .npy files and zarr arrays")
    return Source({"root": own, "path": "array"}, (own, imports / own), path)
