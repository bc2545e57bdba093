"""`import`: a file becomes an array that a service offers."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from service import local, numerals
from service.commands import options


def import_file(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A .npy, .npz, .safetensors, Parquet or HDF5 file; FILE::NAME for an array of several.",
        ),
    ],
    target: Annotated[str, typer.Argument(metavar="ROOT:PATH", help="Where it goes.")],
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="NAME",
            help="Which array, where there are several, other than as FILE::NAME: its name; of Parquet a column of "
            "vectors or labels, or a,b,c or * for columns of numbers side by side. Without it, all are listed.",
        ),
    ] = None,
    root: options.Root = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an array that is there.")] = False,
    allow_non_finite: Annotated[
        bool,
        typer.Option(
            "--allow-non-finite", help="Import NaN and infinity too, for jobs that leave them out (--on-non-finite)."
        ),
    ] = False,
) -> None:
    """Import an array of a file below a root, as a zarr array: a matrix, or labels of rows (1-D, integers or strings).

    It is read block by block, however large it is; bfloat16 becomes float32, and nothing is ever unpickled.

    The directory of the root is given by --root or ORDSIM_ROOTS; a service that offers the same root sees the array
    at once.
    """
    source, named = _file(file)
    if key is not None and named is not None:
        raise typer.BadParameter(f"{file}: name the array here or by --key, not both", param_hint="FILE")
    reference = options.array(target)
    roots = options.roots(root)
    if reference["root"] not in roots:
        raise typer.BadParameter(
            f"the directory of root {reference['root']!r} is not known: add --root {reference['root']}=DIR"
        )
    if not roots[reference["root"]].is_dir():
        raise typer.BadParameter(
            f"root {reference['root']!r}: {str(roots[reference['root']])!r} is not a directory", param_hint="--root"
        )
    from service.importing import import_with_progress  # noqa: PLC0415 - brings zarr, which takes a while

    console = Console(stderr=True, highlight=False, markup=False)
    array = import_with_progress(
        source,
        roots,
        reference["root"],
        reference["path"],
        console,
        key=key or named,
        overwrite=overwrite,
        allow_non_finite=allow_non_finite,
    )
    shape = " x ".join(numerals.grouped(length) for length in array.shape)
    print(f"{target}: {shape} {array.dtype}")


def _file(text: str) -> tuple[Path, str | None]:
    """Read FILE or FILE::NAME."""
    path, name = local.split(text)
    if not path.is_file():
        what = "is a directory" if path.is_dir() else "does not exist"
        raise typer.BadParameter(f"File {str(path)!r} {what}.", param_hint="FILE")
    return path, name
