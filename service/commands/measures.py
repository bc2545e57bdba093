"""`measures`: what can be asked for, in words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from service.commands import options
from service.commands.outcome import CommandError, print_json, problems_as_json

WIDTH = 100


def measures(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A measure, or NAME:METHOD. [default: all]")
    ] = None,
    as_json: options.AsJson = False,
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            envvar=options.URL_VARIABLE,
            metavar="URL",
            help="Ask this service. [default: say what this installation has]",
        ),
    ] = None,
) -> None:
    """List measures and methods, with the options that each takes: for --measure NAME:METHOD,OPTION=VALUE."""
    with problems_as_json(as_json):
        found = _catalogue(url)
        measure, _, method = (name or "").partition(":")
        chosen = [entry for entry in found if measure in ("", entry["measure"]) and method in ("", entry["method"])]
        if not chosen:
            known = ", ".join(dict.fromkeys(_name(entry) for entry in found))
            raise CommandError(f"there is no measure {name}; known are: {known}")
    if as_json:
        print_json(chosen)
        return
    for line in _summary(chosen) if name is None else _details(chosen):
        print(line)


def _catalogue(url: str | None) -> list[dict[str, Any]]:
    if url is None:
        from service import catalogue  # noqa: PLC0415 - brings all measures

        return catalogue.entries()
    with options.connect(url) as client:
        found: list[dict[str, Any]] = client.process("compare")["measures"]
        return found


def _summary(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line a method, and one for its options."""
    for entry in entries:
        yield f"{_name(entry)}{' (default)' if entry['default'] else ''}  {entry['title']}"
        if shown := [_short(option) for option in entry["optionsInWords"]]:
            yield f"    {', '.join(shown)}"
    yield ""
    yield "ordsim measures NAME explains the options of one. Use them as in --measure tsi:units,units=20000,targets=64"


def _details(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    import textwrap  # noqa: PLC0415 - for this alone

    for entry in entries:
        yield f"{_name(entry)}{' (default)' if entry['default'] else ''}  {entry['title']}"
        most = entry["maximumRows"]
        yield f"  rows: {entry['minimumRows']} or more{'' if most is None else f', at most {most:,}'}"
        for option in entry["optionsInWords"]:
            yield f"  {_short(option)}: {option['values']}"
            yield from textwrap.wrap(option["meaning"], WIDTH, initial_indent="      ", subsequent_indent="      ")
        yield ""


def _name(entry: Mapping[str, Any]) -> str:
    return f"{entry['measure']}:{entry['method']}"


def _short(option: Mapping[str, Any]) -> str:
    """An option with its default, or that it is needed."""
    default = option["default"]
    if option["required"]:
        return f"{option['name']} (needed)"
    if default is None:
        return f"{option['name']}"
    return f"{option['name']}={str(default).lower() if isinstance(default, bool) else default}"
