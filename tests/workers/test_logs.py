"""Lines of the log: what they say, and what they keep to themselves."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from typing import Any

import pytest

from workers import logs

HIDDEN = {"/data/secret": "<root lab>", "/data/secret/state": "<state>"}
KEY = "ordsim_0123abcd_" + "k" * 43


def line(style: logs.Style, message: str, error: Exception | None = None, **extra: Any) -> str:
    record = logging.LogRecord("service.test", logging.WARNING, "", 0, message, (), None)
    if error is not None:
        record.exc_info = (type(error), error, error.__traceback__)
    record.__dict__.update(extra)
    return logs.Lines(style, HIDDEN).format(record)


def test_json_lines_have_what_is_bound_and_what_is_given() -> None:
    with logs.bound(request_id="r-1", job="a"), logs.bound(job="b", shard=3):
        document = json.loads(line("json", "counted", seconds=0.5))
    assert {name: document[name] for name in ("level", "logger", "message")} == {
        "level": "warning",
        "logger": "service.test",
        "message": "counted",
    }
    assert (document["request_id"], document["job"], document["shard"], document["seconds"]) == ("r-1", "b", 3, 0.5)
    assert "job" not in json.loads(line("json", "later"))


def test_text_lines_say_the_same() -> None:
    with logs.bound(job="a"):
        text = line("text", "counted", shard=3)
    assert text.endswith("WARNING service.test: counted [job=a shard=3]")


@pytest.mark.parametrize("style", ["text", "json"])
def test_neither_directories_nor_keys_are_shown(style: logs.Style) -> None:
    error = FileNotFoundError(2, "No such file", "/data/secret/x/zarr.json")
    shown = line(style, f"with {KEY} in /data/secret/state/jobs", error, path="/data/secret/y")
    assert "/data/secret" not in shown
    assert "k" * 16 not in shown
    assert "ordsim_0123abcd_***" in shown
    assert "<state>/jobs" in shown
    assert "<root lab>/x/zarr.json" in shown
    assert "<root lab>/y" in shown
    if style == "json":
        assert "FileNotFoundError" in json.loads(shown)["exception"]


async def test_what_is_bound_belongs_to_its_own_task() -> None:
    async def say(job: str) -> str:
        with logs.bound(job=job):
            await asyncio.sleep(0)
            return str(await asyncio.to_thread(line, "text", "here"))

    first, second = await asyncio.gather(say("a"), say("b"))
    assert first.endswith("[job=a]")
    assert second.endswith("[job=b]")


def test_all_libraries_of_a_process_write_in_one_form() -> None:
    program = (
        "import logging, distributed, uvicorn\n"
        "from workers import logs\n"
        "logs.configure('json', 'info', {})\n"
        "logging.getLogger('distributed.worker').warning('late')\n"
        "logging.getLogger('distributed.scheduler').info('quiet')\n"
        "logging.getLogger('uvicorn.error').warning('slow')\n"
        "logging.getLogger('service.x').info('told')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    told = [json.loads(text) for text in done.stderr.splitlines()]
    assert [entry["message"] for entry in told] == ["late", "slow", "told"]
