"""From the name of an array to a checked place on disk: roots, paths below them, and what is cheap to check there.

A client's string is joined to a directory that the operator configured and never reaches a function that would
understand it as a URL.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workers import metadata
from workers.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeAlias

    from workers.metadata import ArrayMetadata

MEMBERS_SHOWN = 10
FOLDERS_LIMIT = 100_000
"""Folders that a listing of arrays looks into at most."""
MEMBER_FOLDERS_LIMIT = 1_000
"""Folders that are looked into for the members of a group."""


@dataclass(frozen=True, slots=True)
class Root:
    """A directory that the operator allows, under the name that clients know it by."""

    name: str
    directory: str


Roots: TypeAlias = "Mapping[str, Root]"


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows start <= r < stop."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Reference:
    """An array by the name of its root and its path below it; all its rows, or a range of them.

    `columns` may be a range too: of a matrix of distances between rows, the same as `rows`.
    """

    root: str
    path: str
    rows: RowRange | None = None
    columns: RowRange | None = None

    def shown(self, name: str) -> str:
        """What errors call the array that has this name in the request."""
        return f"{name} ({self.root}:{self.path})"


@dataclass(frozen=True, slots=True)
class ArrayDescription:
    """What a listing says of an array. `chunks` are what is read at once; `shards` the files they lie in, if any."""

    path: str
    shape: tuple[int, ...]
    dtype: str
    chunks: tuple[int, ...]
    shards: tuple[int, ...] | None
    zarr_format: int


def resolve(roots: Roots, root: str, path: str, pointer: str = "") -> Path:
    """Find the place below a root that a path names. It need not exist.

    Parameters
    ----------
    pointer : str
        JSON pointer of the reference in the request, for the error.

    Raises
    ------
    ProblemError
        unknown-root; path-outside-root for everything that is not a plain relative path to a place inside, in the
        same words whether or not there is anything at the other end.
    """
    if root not in roots:
        raise ProblemError("unknown-root", f"There is no data root named {root[:64]!r}.", "request", f"{pointer}/root")
    outside = _outside(pointer)
    if not _is_plain(path):
        raise outside
    base = Path(roots[root].directory).resolve()
    try:
        place = (base / path).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a name too long or not encodable
        raise outside from error
    if not place.is_relative_to(base):
        raise outside
    return place


def read_metadata(roots: Roots, reference: Reference, pointer: str, name: str) -> tuple[Path, ArrayMetadata]:
    """Find an array's directory and read its metadata document, within limits, before anything else is read.

    Raises
    ------
    ProblemError
        As `resolve`; unknown-array if there is no array; over-limit, unsupported-dtype, unsupported-codec.
    """
    place = resolve(roots, reference.root, reference.path, pointer)
    base = Path(roots[reference.root].directory).resolve()
    shown = reference.shown(name)
    document = metadata.find_document(place, shown, f"{pointer}/path")
    if document is None:
        raise _no_array(place, shown, pointer)
    if not document.resolve().is_relative_to(base):
        raise _outside(pointer)
    found = metadata.parse(document, shown, f"{pointer}/path")
    if found is None:
        raise _no_array(place, shown, pointer)
    return place, found


def describe_matrix(roots: Roots, reference: Reference, name: str) -> ArrayDescription:
    """Check all of a matrix that can be checked without reading its values.

    Parameters
    ----------
    name : str
        "x" or "y": errors name it and point to it.

    Raises
    ------
    ProblemError
        unknown-root, path-outside-root, unknown-array, not-a-matrix, unsupported-dtype, unsupported-codec,
        over-limit, or invalid-request for a range of rows that is not within the array.
    """
    _, found = read_metadata(roots, reference, f"/{name}", name)
    check_matrix(found, reference, name)
    return describe(found, reference.path)


def check_matrix(found: ArrayMetadata, reference: Reference, name: str) -> RowRange:
    """Check that an array is a matrix of real numbers that has the wanted rows, and return their range."""
    shown = reference.shown(name)
    if len(found.shape) != 2:
        advice = "Store one row of features for each input."
        if len(found.shape) > 2:
            advice = "Pool or flatten everything but the first axis, e.g. values.reshape(len(values), -1)."
        raise ProblemError(
            "not-a-matrix",
            f"Array {shown} must be 2-D, rows by features, but is {len(found.shape)}-D with shape "
            f"{found.shape}. {advice}",
            "request",
            f"/{name}/path",
        )
    found.require_real(shown, f"/{name}/path")
    rows, columns = found.shape
    if columns == 0:
        raise ProblemError(
            "not-a-matrix", f"Array {shown} has no features: its shape is {found.shape}.", "request", f"/{name}/path"
        )
    for what, wanted, length in (("Rows", reference.rows, rows), ("Columns", reference.columns, columns)):
        if wanted is not None and not 0 <= wanted.start < wanted.stop <= length:
            raise ProblemError(
                "invalid-request",
                f"{what} {wanted.start} to {wanted.stop} are not within array {shown}, which has {length} "
                f"{what.lower()}.",
                "request",
                f"/{name}/rows",
            )
    return reference.rows or RowRange(0, rows)


def describe(found: ArrayMetadata, path: str) -> ArrayDescription:
    """Put metadata into the form of a listing."""
    return ArrayDescription(path, found.shape, found.dtype, found.chunks, found.shards, found.zarr_format)


def list_arrays(roots: Roots, root: str, prefix: str = "", limit: int = 1000) -> list[ArrayDescription]:
    """List the arrays below a prefix, sorted by path; those that cannot be read as arrays are left out.

    Raises
    ------
    ProblemError
        unknown-root; path-outside-root.
    """
    if root not in roots:
        raise ProblemError("unknown-root", f"There is no data root named {root[:64]!r}.", "request", "/root")
    base = Path(roots[root].directory).resolve()
    prefix = prefix.removesuffix("/")
    start = resolve(roots, root, prefix) if prefix else base
    found: list[ArrayDescription] = []
    for folder in _folders(start, base):
        if len(found) == limit:
            break
        path = folder.relative_to(base).as_posix()
        if folder != base and not _is_plain(path):
            continue  # nobody could name it in a request
        try:
            document = metadata.find_document(folder, path, None)
            parsed = None
            if document is not None and document.resolve().is_relative_to(base):
                parsed = metadata.parse(document, path, None)
        except ProblemError:
            continue
        if parsed is not None:
            found.append(describe(parsed, path))
    return found


def _folders(start: Path, base: Path, limit: int = FOLDERS_LIMIT) -> Iterator[Path]:
    """Walk folders in order of their paths, not into arrays, and not through links that lead outside."""
    pending = [start]
    seen: set[Path] = set()
    while pending and len(seen) < limit:
        folder = pending.pop()
        try:
            if not folder.is_dir():
                continue
            real = folder.resolve()
            if real in seen or not real.is_relative_to(base):
                continue
            seen.add(real)
            yield folder
            if metadata.node_type(folder) != "array":
                below = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
                pending.extend(sorted(below, reverse=True))
        except (OSError, RuntimeError):  # not readable, gone meanwhile, a name too long, or a loop of links
            continue


def _is_plain(path: str) -> bool:
    """Whether a path is made of plain names: nothing that a URL, a shell or another system would read otherwise."""
    if not path.isprintable() or any(mark in path for mark in ("\\", "%", "://", "::")):
        return False
    return not any(part in ("", ".", "..") for part in path.split("/"))


def _outside(pointer: str) -> ProblemError:
    return ProblemError(
        "path-outside-root",
        "The path must name a place inside its root: names joined by '/', without a scheme, a leading '/', "
        "empty, '.' or '..' parts, '%', backslashes or unprintable characters, and without links that lead outside.",
        "request",
        f"{pointer}/path",
    )


def _no_array(place: Path, shown: str, pointer: str) -> ProblemError:
    """Say that there is no array, and name some of the arrays below, if there are any."""
    members: list[str] = []
    for folder in _folders(place, place, MEMBER_FOLDERS_LIMIT):
        if folder != place and metadata.node_type(folder) == "array":
            members.append(folder.relative_to(place).as_posix())
        if len(members) > MEMBERS_SHOWN:
            break
    detail = f"There is no zarr array at {shown}."
    if metadata.node_type(place) == "group":
        detail = f"{shown} is a group, not an array."
    if members:
        listed = ", ".join(repr(member) for member in members[:MEMBERS_SHOWN])
        more = ", ..." if len(members) > MEMBERS_SHOWN else ""
        detail += f" Name one of the arrays below it: {listed}{more}."
    return ProblemError("unknown-array", detail, "request", f"{pointer}/path")
