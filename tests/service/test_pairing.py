"""Row identifiers, joins and holes from the client and from the command line."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from service.client import Client, ServiceError
from service.commands import pairing
from service.commands.application import application
from service.commands.outcome import run
from tests.service.conftest import EXACT, compare, request

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

IDS = {"x": "lab:ids/a", "y": "lab:ids/some"}
REFERENCES = {side: {"root": "lab", "path": path.partition(":")[2]} for side, path in IDS.items()}
JOINING = ("lab:nan", "lab:some", "--measure", "tsi:exact", "--ids", *IDS.values(), "--align", "join")


@pytest.fixture
def ordsim(
    client: httpx2.Client, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str]]:
    """Run a command in this process, against the session's service."""

    def call(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["ordsim", *arguments, "--url", str(client.base_url)])
        monkeypatch.setenv("COLUMNS", "100")
        capsys.readouterr()
        code = run(application)
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return call


def test_the_client_joins_and_drops(client: httpx2.Client) -> None:
    with Client(str(client.base_url)) as asking:
        options: dict[str, Any] = {"ids": IDS, "align": "join", "on_non_finite": "drop"}
        found = asking.compare("lab:nan", "lab:some", [EXACT], **options)
        inputs = found.json["inputs"]
        assert (inputs["n"], inputs["rowsDropped"]) == (5, {"x": 3, "y": 1})
        again = asking.submit("lab:nan", "lab:some", [EXACT], **options)
        assert asking.wait(again["jobID"])["ordsim"]["reusedFrom"] is not None
        anew = asking.submit("lab:nan", "lab:some", [EXACT], reuse=False, **options)
        assert asking.wait(anew["jobID"])["ordsim"]["reusedFrom"] is None
        grid = asking.matrix(
            ["lab:x", "lab:some"],
            {"measure": "tsi", "method": "units", "units": 20, "targets": 3},
            ids=list(IDS.values()),
            align="join",
        )
        assert grid.json["inputs"]["n"] == 6
        one = {"root": "lab", "path": "some", "rows": {"start": 0, "stop": 1}}
        with pytest.raises(ServiceError, match="at least 3 rows, and there are 1"):
            asking.compare("lab:x", one, [EXACT], ids=IDS, align="join")


def test_compare_joins_and_drops(client: httpx2.Client, ordsim: Callable[..., tuple[int, str]]) -> None:
    code, printed = ordsim("compare", *JOINING, "--on-non-finite", "drop")
    assert code == 0, printed
    said = " ".join(printed.split())
    assert "5 rows were compared, joined by their identifiers. Left out: 3 rows of x and 1 rows of y." in said
    code, printed = ordsim("compare", *JOINING, "--on-non-finite", "drop", "--json")
    assert code == 0, printed
    body = request("nan", "some", ids=REFERENCES, align="join", on_non_finite="drop")
    document = json.loads(printed[printed.index("{") : printed.rindex("}") + 1])
    assert document["results"] == compare(client, body)["results"]
    code, printed = ordsim("compare", *JOINING)
    assert code != 0
    assert "row 3" in printed
    assert "drop" in printed


def test_submit_takes_the_same_options(client: httpx2.Client, ordsim: Callable[..., tuple[int, str]]) -> None:
    for extra in ((), ("--anew",)):
        code, printed = ordsim("submit", *JOINING, "--on-non-finite", "drop", *extra)
        assert code == 0, printed
        sent = client.get(f"/v1/jobs/{printed.split()[0]}").json()["request"]
        assert (sent["ids"], sent["align"], sent["on_non_finite"]) == (REFERENCES, "join", "drop")
        assert sent.get("reuse", True) is not bool(extra)


def test_a_check_by_identifiers_is_the_default(ordsim: Callable[..., tuple[int, str]]) -> None:
    code, printed = ordsim("compare", "lab:x", "lab:y", "--measure", "tsi:exact", "--ids", "lab:ids/a", "lab:ids/b")
    assert code != 0
    assert "The identifiers differ in 8 of 8 rows" in " ".join(printed.split())
    code, printed = ordsim("compare", "lab:x", "lab:y", "--measure", "tsi:exact", "--align", "join")
    assert code != 0
    assert "there are none" in printed


def test_references_find_their_places() -> None:
    texts = pairing.named_labels("g", ("a", "b"))
    assert texts == {"groups": "g", "x-ids": "a", "y-ids": "b"}
    assert pairing.named_labels(None, None) == {}
    found = pairing.placed({"x": {}, **{name: {"path": text} for name, text in texts.items()}})
    assert found == {"x": {}, "groups": {"path": "g"}, "ids": {"x": {"path": "a"}, "y": {"path": "b"}}}
