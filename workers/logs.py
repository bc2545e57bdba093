"""Logs: one handler for a process, as text or as JSON, whose lines say which request, job and shard they are about.

What is bound here belongs to all lines that are written meanwhile in the same context, whoever writes them.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Style = Literal["text", "json"]
Level = Literal["debug", "info", "warning", "error"]

API_KEY = re.compile(r"(ordsim_[A-Za-z0-9]+)_[A-Za-z0-9_-]{16,}")
LIBRARIES = ("distributed", "tornado", "bokeh", "uvicorn")
"""Their own handlers write in their own formats; what they say below a warning is about themselves."""

STANDARD = frozenset(logging.LogRecord("", 0, "", 0, "", (), None).__dict__) | {"message", "asctime", "taskName"}

_bound: ContextVar[Mapping[str, Any]] = ContextVar("bound", default={})  # noqa: B039 - never changed, only replaced


@contextlib.contextmanager
def bound(**fields: Any) -> Iterator[None]:
    """Add fields to every line that is written meanwhile."""
    token = _bound.set({**_bound.get(), **fields})
    try:
        yield
    finally:
        _bound.reset(token)


class Lines(logging.Formatter):
    """Formats lines, and keeps directories and secrets out of them.

    Parameters
    ----------
    style : {"text", "json"}
    hidden : mapping of str to str
        What to write in place of each directory.
    """

    def __init__(self, style: Style, hidden: Mapping[str, str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._form = style
        # A directory inside another one first.
        self._hidden = sorted(hidden.items(), key=lambda item: -len(item[0]))

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line = self._json(record) if self._form == "json" else self._text(record)
        for directory, name in self._hidden:
            line = line.replace(directory, name)
        return API_KEY.sub(r"\1_***", line)

    def _text(self, record: logging.LogRecord) -> str:
        first, newline, rest = super().format(record).partition("\n")
        fields = " ".join(f"{name}={value}" for name, value in _fields(record).items())
        return f"{first} [{fields}]{newline}{rest}" if fields else f"{first}{newline}{rest}"

    def _json(self, record: logging.LogRecord) -> str:
        document = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            document["exception"] = self.formatException(record.exc_info)
        return json.dumps(document, ensure_ascii=False, default=str)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """What is bound, and what was given with the line."""
    given = {name: value for name, value in record.__dict__.items() if name not in STANDARD}
    return {**_bound.get(), **given}


def hidden_directories(roots: Mapping[str, str], state: str) -> dict[str, str]:
    """Name the directories that no line may show."""
    return {**{directory: f"<root {name}>" for name, directory in roots.items()}, state: "<state>"}


class _StandardError(logging.StreamHandler[TextIO]):
    """Writes to what standard error is when a line is written, as `logging` itself does before it is configured."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr


def configure(style: Style, level: Level, hidden: Mapping[str, str]) -> None:
    """Write the lines of this process to standard error, all of them in one form."""
    handler = _StandardError()
    handler.setFormatter(Lines(style, hidden))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in list(root.manager.loggerDict):
        if name.partition(".")[0] in LIBRARIES:
            logger = logging.getLogger(name)
            logger.handlers.clear()
            logger.propagate = True
            logger.setLevel(logging.NOTSET if "." in name else max(logging.WARNING, root.level))
