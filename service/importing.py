"""Imports as a person sees them: the workers' own import, with a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from workers.importing import import_file
from workers.references import Root

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rich.console import Console

    from workers.references import ArrayDescription


def import_with_progress(
    source: Path,
    roots: Mapping[str, Path],
    root: str,
    path: str,
    console: Console,
    *,
    key: str | None = None,
    overwrite: bool = False,
    allow_non_finite: bool = False,
) -> ArrayDescription:
    """Import an array of a file below a root, and show how far it is if that is a terminal."""
    known = {name: Root(name, str(directory.resolve())) for name, directory in roots.items()}
    with Progress(
        TextColumn("importing {task.description}", style="bold"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task(source.name, total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        return import_file(
            source,
            known,
            root,
            path,
            key=key,
            overwrite=overwrite,
            allow_non_finite=allow_non_finite,
            progress=show,
        )
