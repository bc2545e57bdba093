"""`import`: a file becomes an array that a service offers."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from service import numerals
from service.commands import options


def import_file(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            readable=True,
            help="A .npy, .npz, .safetensors, Parquet or HDF5 file.",
        ),
    ],
    target: Annotated[str, typer.Argument(metavar="ROOT:PATH", help="Where it goes.")],
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="NAME",
            help="Which array, where there are several: its name; of Parquet a column of vectors or labels, or a,b,c "
            "or * for columns of numbers side by side. Without it, what there is is listed.",
        ),
    ] = None,
    root: options.Root = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an array that is there.")] = False,
) -> None:
    """Import an array of a file below a root, as a zarr array: a matrix, or labels of rows (1-D, integers or strings).

    It is read block by block, however large it is; bfloat16 becomes float32, and nothing is ever unpickled.

    The directory of the root is given by --root or ORDSIM_ROOTS; a service that offers the same root sees the array
    at once.
    """
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
        file, roots, reference["root"], reference["path"], console, key=key, overwrite=overwrite
    )
    shape = " x ".join(numerals.grouped(length) for length in array.shape)
    print(f"{target}: {shape} {array.dtype}")
