"""The one exception that a client is told of in full, wherever in the three rooms it was raised."""

from __future__ import annotations

from typing import Literal

Origin = Literal["request", "data", "system"]


def writable(text: str) -> str:
    """Give text a form that UTF-8 has: metadata documents and other packages' words may hold half a character."""
    return text.encode("utf-8", "backslashreplace").decode()


class ProblemError(Exception):
    """Something went wrong that has a name in the contract.

    Parameters
    ----------
    slug : str
        The problem's name, e.g. ``"missing-chunks"``; the service maps it to a status and a title.
    detail : str
        A sentence for a person: names the array, the row, and what to do. Never an absolute path.
    origin : {"request", "data", "system"}
        Who must act.
    pointer : str or None
        JSON pointer into the request body, e.g. ``"/x/path"``.
    """

    def __init__(self, slug: str, detail: str, origin: Origin = "data", pointer: str | None = None) -> None:
        detail = writable(detail)
        # All four go to Exception's args, so that the error survives pickling between Dask processes.
        super().__init__(slug, detail, origin, pointer)
        self.slug = slug
        self.detail = detail
        self.origin: Origin = origin
        self.pointer = pointer

    def __str__(self) -> str:
        return f"{self.slug}: {self.detail}"


def changed(shown: str) -> ProblemError:
    """What is said of an array that is not what it was when the job started."""
    return ProblemError(
        "corrupt-data",
        f"Array {shown} changed while the job was running. Let writing finish, then submit the job again.",
    )
