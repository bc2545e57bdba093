"""The ledger: what each shard of a job contributed, written down before it counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from service import transactions
from service.records import HALF
from service.states import JobStatus
from workers.measures.protocol import Shard
from workers.partials import Partial

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from service.database import Database


LOW = (1 << HALF) - 1

COUNTS = """shard < COALESCE(
    (SELECT shards FROM prefixes WHERE prefixes.job = shards.job AND prefixes.measure = shards.measure), 1 << 62)"""
"""Whether a shard is part of its measure's total."""


class Ledger:
    """The shards of all jobs. A total is summed from here, never incremented."""

    def __init__(self, database: Database, now: Callable[[], str]) -> None:
        self._database = database
        self._now = now

    def plan(self, job: str, measures: Sequence[Sequence[Shard]], seconds: Sequence[float] | None = None) -> None:
        """Write the shards of all measures at once, so that progress never goes back; once only.

        `seconds` are the worker seconds that each measure is expected to take, if that is known.
        """
        with self._database.write() as connection:
            transactions.require_running(connection, job)
            if connection.execute("SELECT 1 FROM shards WHERE job = ? LIMIT 1", (job,)).fetchone():
                return
            connection.executemany(
                "INSERT INTO shards (job, measure, shard, descriptor, comparisons) VALUES (?, ?, ?, ?, ?)",
                (
                    (
                        job,
                        measure,
                        shard.index,
                        json.dumps({"start": shard.start, "stop": shard.stop}),
                        shard.comparisons,
                    )
                    for measure, shards in enumerate(measures)
                    for shard in shards
                ),
            )
            for measure, shards in enumerate(measures):
                total = sum(shard.comparisons for shard in shards)
                rate = None if seconds is None or not total else seconds[measure] / total
                connection.execute(
                    "INSERT INTO progress VALUES (?, ?, ?, ?, 0, 0, ?, ?, 0, 0)",
                    (job, measure, rate, len(shards), total >> HALF, total & LOW),
                )
            transactions.update(connection, job, {}, self._now())

    def missing(self, job: str) -> Sequence[tuple[int, Shard]]:
        """Return the shards without a result, each with its measure's place in the request."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT measure, shard, descriptor, comparisons FROM shards WHERE job = ? AND seconds IS NULL"
                " ORDER BY measure, shard",
                (job,),
            ).fetchall()
        return [
            (measure, Shard(index=shard, comparisons=comparisons, **json.loads(descriptor)))
            for measure, shard, descriptor, comparisons in rows
        ]

    def record(
        self,
        job: str,
        measure: int,
        shard: int,
        partial: bytes,
        seconds: float,
        *,
        preparing: float = 0.0,
        tell: bool = False,
    ) -> bool:
        """Write the result of one shard, unless it is there or the job does not run any more.

        `preparing` of the `seconds` went into arrays that other shards find prepared. `tell` also appends an event; the
        flag returned says whether the result was taken.
        """
        with self._database.write() as connection:
            taken = connection.execute(
                "UPDATE shards SET partial = ?, seconds = ? WHERE job = ? AND measure = ? AND shard = ?"
                " AND partial IS NULL AND EXISTS (SELECT 1 FROM jobs WHERE job = ? AND status = ?)",
                (partial, seconds, job, measure, shard, job, JobStatus.RUNNING),
            ).rowcount
            if not taken:
                return False
            connection.execute(
                "UPDATE progress SET shards_done = shards_done + 1, seconds = seconds + ?,"
                " done_high = done_high + (comparisons >> ?), done_low = done_low + (comparisons & ?)"
                " FROM (SELECT comparisons FROM shards WHERE job = ? AND measure = ? AND shard = ?)"
                " WHERE job = ? AND measure = ?",
                (max(0.0, seconds - preparing), HALF, LOW, job, measure, shard, job, measure),
            )
            transactions.update(connection, job, {}, self._now())
            if tell:
                progress = transactions.fetch(connection, job).progress
                data = {
                    "progress": progress.percent,
                    "shardsDone": progress.shards_done,
                    "shardsTotal": progress.shards_total,
                    "comparisonsDone": progress.comparisons_done,
                    "comparisonsTotal": progress.comparisons_total,
                }
                transactions.append(connection, job, "progress", data, self._now())
            return True

    def complete(self, job: str) -> bool:
        """Whether every shard that is wanted has its result."""
        with self._database.read() as connection:
            sought = "SELECT 1 FROM shards WHERE job = ? AND seconds IS NULL LIMIT 1"
            return connection.execute(sought, (job,)).fetchone() is None

    def settle(self, job: str, measure: int, shards: int) -> None:
        """Note that the first so many shards of a measure are enough, and drop those that are not finished yet."""
        with self._database.write() as connection:
            transactions.require_running(connection, job)
            connection.execute("INSERT INTO prefixes (job, measure, shards) VALUES (?, ?, ?)", (job, measure, shards))
            dropped = "shards WHERE job = ? AND measure = ? AND shard >= ? AND seconds IS NULL"
            connection.execute(
                "UPDATE progress SET shards_total = shards_total - number,"
                " total_high = total_high - high, total_low = total_low - low"
                " FROM (SELECT COUNT(*) AS number, COALESCE(SUM(comparisons >> ?), 0) AS high,"
                f" COALESCE(SUM(comparisons & ?), 0) AS low FROM {dropped})"
                " WHERE job = ? AND measure = ?",
                (HALF, LOW, job, measure, shards, job, measure),
            )
            connection.execute(f"DELETE FROM {dropped}", (job, measure, shards))
            transactions.update(connection, job, {}, self._now())
            data = {"measure": measure, "shards": shards}
            transactions.append(connection, job, "settled", data, self._now())

    def settled(self, job: str) -> Mapping[int, int]:
        """Return the measures that stopped early, each with the number of its shards that count."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT measure, shards FROM prefixes WHERE job = ?", (job,)).fetchall()
        return {row["measure"]: row["shards"] for row in rows}

    def following(self, job: str, measure: int, start: int) -> Generator[Partial, None, None]:
        """Yield the results from shard `start` on, in order, up to the first that is missing."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT shard, partial FROM shards WHERE job = ? AND measure = ? AND shard >= ? ORDER BY shard",
                (job, measure, start),
            )
            for expected, (shard, partial) in enumerate(rows, start):
                if partial is None or shard != expected:
                    return
                yield Partial.from_bytes(partial)

    def total(self, job: str, measure: int) -> Partial:
        """Add up the ledger of one measure, as far as it counts; RuntimeError while a shard is missing."""
        return Partial.total(self._partials(job, measure))

    def _partials(self, job: str, measure: int) -> Iterator[Partial]:
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT shard, partial FROM shards WHERE job = ? AND measure = ? AND {COUNTS} ORDER BY shard",
                (job, measure),
            )
            for shard, partial in rows:
                if partial is None:
                    raise RuntimeError(f"shard {shard} of measure {measure} of job {job} has no result yet")
                yield Partial.from_bytes(partial)

    def summary(self, job: str) -> Sequence[dict[str, Any]]:
        """Return the shards of each measure that count, and the worker seconds of all."""
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT measure, TOTAL({COUNTS}) AS shards, TOTAL(seconds) AS seconds FROM shards WHERE job = ?"
                " GROUP BY measure ORDER BY measure",
                (job,),
            ).fetchall()
        return [{**dict(row), "shards": int(row["shards"])} for row in rows]
