-- How far each measure of a job is, kept beside its shards in the same transactions: a long job has a hundred thousand
-- shards, and its status is asked for again and again. Comparisons may exceed 64 bits: halves of 32 are summed apart.

CREATE TABLE progress (
    job          TEXT NOT NULL REFERENCES jobs (job),
    measure      INTEGER NOT NULL,
    rate         REAL,                                   -- worker seconds of a comparison, by the model of costs
    shards_total INTEGER NOT NULL,
    shards_done  INTEGER NOT NULL,
    seconds      REAL NOT NULL,                          -- of the shards that are done, but for preparing arrays
    total_high   INTEGER NOT NULL,                       -- comparisons
    total_low    INTEGER NOT NULL,
    done_high    INTEGER NOT NULL,
    done_low     INTEGER NOT NULL,
    PRIMARY KEY (job, measure)
) STRICT;

INSERT INTO progress
SELECT job, measure, NULL, COUNT(*), COUNT(seconds), TOTAL(seconds),
       SUM(comparisons >> 32), SUM(comparisons & 0xffffffff),
       SUM(IIF(seconds IS NULL, 0, comparisons >> 32)), SUM(IIF(seconds IS NULL, 0, comparisons & 0xffffffff))
FROM shards GROUP BY job, measure;

DROP INDEX shards_progress;
CREATE INDEX shards_missing ON shards (job, measure, shard) WHERE seconds IS NULL;
