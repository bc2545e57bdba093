"""The store that zarr reads an array from: the metadata that was judged, and files that lie below the root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarr.core.buffer import default_buffer_prototype
from zarr.storage import LocalStore

from workers.errors import ProblemError
from workers.metadata import DOCUMENTS

if TYPE_CHECKING:
    from pathlib import Path

    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import Buffer, BufferPrototype

    from workers.metadata import ArrayMetadata

UNREAD = (*DOCUMENTS, ".zattrs", ".zgroup", ".zmetadata")
"""Documents that are not read a second time, or never: attributes may be of any size, and mean nothing here."""


class JudgedStore(LocalStore):
    """A directory whose metadata document cannot change after it was judged, and whose links are looked at again."""

    def __init__(self, directory: Path, base: Path, found: ArrayMetadata, shown: str) -> None:
        super().__init__(directory, read_only=True)
        self._base = base
        self._document = (DOCUMENTS[found.zarr_format == 2], found.document)
        self._shown = shown

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the bytes of a chunk, or the document."""
        if key in UNREAD:
            return self._judged(key, prototype)
        self._require_inside(key)
        return await super().get(key, prototype, byte_range)

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the same without a loop."""
        if key in UNREAD:
            return self._judged(key, prototype)
        self._require_inside(key)
        return super().get_sync(key, prototype=prototype, byte_range=byte_range)

    def _judged(self, key: str, prototype: BufferPrototype | None) -> Buffer | None:
        name, document = self._document
        return (prototype or default_buffer_prototype()).buffer.from_bytes(document) if key == name else None

    def _require_inside(self, key: str) -> None:
        place = self.root / key
        if not place.resolve().is_relative_to(self._base):
            raise ProblemError("path-outside-root", f"A link within array {self._shown} leads out of its root.", "data")
