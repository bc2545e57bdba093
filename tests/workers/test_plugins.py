"""Measures of other packages: what is taken, and in which words the rest is left out."""

from __future__ import annotations

import sys
import textwrap
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from service.pipeline import Pipeline
from workers.errors import ProblemError
from workers.measures import plugins, registry
from workers.measures.tsi_exact import TsiExact

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GOOD = """
    from typing import Literal
    from workers.measures.protocol import MeasureOptions
    from workers.measures.tsi_exact import TsiExact
    class Options(MeasureOptions):
        measure: Literal["mine"]
        method: Literal["plain"]
    class Mine(TsiExact):
        measure, method, options = "mine", "plain", Options
"""


def install(place: Path, name: str, code: str, offered: str = "Mine", version: str = "1.2") -> None:
    """Leave what installing a package leaves: its module, and its metadata."""
    (place / f"{name}.py").write_text(textwrap.dedent(code))
    information = place / f"{name}-{version}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (information / "entry_points.txt").write_text(f"[{plugins.GROUP}]\n{name} = {name}:{offered}\n")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where packages are installed, and forgotten after the test."""
    known = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - known:
        if getattr(sys.modules[name], "__file__", None) == str(tmp_path / f"{name}.py"):
            del sys.modules[name]


def test_a_sound_package_is_taken(place: Path) -> None:
    install(place, "sound", GOOD)
    (found,) = plugins.load({"tsi"})
    assert (found.name, found.distribution, found.version, found.refused) == ("sound", "sound", "1.2", None)
    assert [measure.measure for measure in found.measures] == ["mine"]
    assert plugins.describe([found]) == ["sound 1.2 (mine plain)"]


@pytest.mark.parametrize(
    ("code", "offered", "words"),
    [
        ("raise RuntimeError('no licence')", "Mine", "cannot be loaded: RuntimeError: no licence"),
        ("import sys; sys.exit(3)", "Mine", "cannot be loaded: SystemExit"),
        ("import no_such_module_anywhere", "Mine", "ModuleNotFoundError"),
        (GOOD, "Absent", "AttributeError"),
        ("Mine = []", "Mine", "no measure"),
        ("Mine = 7", "Mine", "does not inherit"),
        ("from workers.measures.protocol import Measure\nclass Mine(Measure): pass", "Mine", "abstract"),
        (GOOD.replace('"mine"', '"tsi"'), "Mine", "there is a measure 'tsi' already"),
        (GOOD.replace('"mine"', '"My Measure"'), "Mine", "is no name"),
        (GOOD.replace('Literal["mine"]', "str"), "Mine", "measure: Literal['mine']"),
        (GOOD.replace('"plain", Options', '"plain", dict'), "Mine", "do not inherit from MeasureOptions"),
        (
            GOOD.replace('method: Literal["plain"]', 'method: Literal["plain"]\n        odd: "Nowhere"'),
            "Mine",
            "Nowhere",
        ),
    ],
)
def test_what_cannot_be_used_is_left_out_with_the_reason(place: Path, code: str, offered: str, words: str) -> None:
    install(place, "unsound", code, offered)
    (found,) = plugins.load({"tsi"})
    assert found.measures == ()
    assert words in (found.refused or "")


def test_of_two_with_one_name_the_first_is_taken(place: Path) -> None:
    install(place, "beta", GOOD)
    install(place, "alpha", GOOD)
    first, second = plugins.load({"tsi"})
    assert (first.name, first.refused) == ("alpha", None)
    assert "'mine' already" in (second.refused or "")


def test_none_are_installed_where_the_suite_runs() -> None:
    assert registry.PLUGINS == ()
    assert registry.plugin_names() == []
    assert registry.plugin_of("tsi") is None


def test_differences_name_both_sides() -> None:
    own = ["sound 1.2 (mine plain)"]
    assert plugins.differences(own, {"a": own, "b": own}) == []
    (said,) = plugins.differences(own, {"a": own, "tcp://b": ["sound 1.3 (mine plain)"]})
    assert said == "the plug-in measures at tcp://b are sound 1.3 (mine plain) but sound 1.2 (mine plain) here"
    assert "none here" in plugins.differences([], {"b": own})[0]


async def test_a_job_is_refused_where_workers_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    async def differences() -> list[str]:
        return ["the plug-in measures at b are none but sound 1.2 (mine plain) here"]

    pipeline: Any = SimpleNamespace(
        request=SimpleNamespace(options=lambda: [(None, SimpleNamespace(innermost=SimpleNamespace(measure="mine")))]),
        context=SimpleNamespace(cluster=SimpleNamespace(plugin_differences=differences)),
    )
    await Pipeline._require_plugins(pipeline)  # not of a plug-in, so nobody is asked
    plugin = plugins.Plugin("sound", "sound", "1.2", (TsiExact(),))
    monkeypatch.setattr(registry, "plugin_of", lambda measure: plugin if measure == "mine" else None)
    with pytest.raises(ProblemError, match="must be the same everywhere") as error:
        await Pipeline._require_plugins(pipeline)
    assert (error.value.slug, error.value.origin) == ("cluster-unavailable", "system")
