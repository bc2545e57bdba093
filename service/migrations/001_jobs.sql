-- Jobs, the ledger of their shards, and what happened to them.

CREATE TABLE jobs (
    number           INTEGER PRIMARY KEY AUTOINCREMENT,  -- order of submission, never reused
    job              TEXT NOT NULL UNIQUE,
    process          TEXT NOT NULL,
    status           TEXT NOT NULL CHECK (status IN ('accepted', 'running', 'successful', 'failed', 'dismissed')),
    phase            TEXT,
    attempt          INTEGER NOT NULL DEFAULT 1,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    label            TEXT,
    tags             TEXT NOT NULL,                      -- JSON object of strings
    request          TEXT NOT NULL,                      -- JSON, as it was sent
    arrays           TEXT NOT NULL,                      -- JSON, shape and dtype as described at submission
    request_id       TEXT NOT NULL,
    created          TEXT NOT NULL,
    started          TEXT,
    finished         TEXT,
    updated          TEXT NOT NULL,
    x_staged         TEXT,                               -- JSON, what was staged, with its fingerprint
    y_staged         TEXT,
    exception        TEXT,                               -- JSON, a problem
    results          TEXT                                -- JSON, only when successful
) STRICT;

CREATE INDEX jobs_by_status ON jobs (status, number);
CREATE INDEX jobs_by_label ON jobs (label, number);

-- One row for each piece of work, written when the job is planned; `partial` is what the piece contributed.
CREATE TABLE shards (
    job         TEXT NOT NULL REFERENCES jobs (job),
    measure     INTEGER NOT NULL,                        -- the measure's place in the request
    shard       INTEGER NOT NULL,
    descriptor  TEXT NOT NULL,                           -- JSON
    comparisons INTEGER NOT NULL,
    partial     BLOB,
    seconds     REAL,
    PRIMARY KEY (job, measure, shard),
    CHECK ((partial IS NULL) = (seconds IS NULL))
) STRICT;

-- Covers progress, which is read far more often than the partials themselves.
CREATE INDEX shards_progress ON shards (job, measure, seconds, comparisons);

-- Append only.
CREATE TABLE events (
    job    TEXT NOT NULL REFERENCES jobs (job),
    number INTEGER NOT NULL,
    time   TEXT NOT NULL,
    kind   TEXT NOT NULL,
    data   TEXT NOT NULL,                                -- JSON
    PRIMARY KEY (job, number)
) STRICT;

CREATE TABLE idempotency (
    key     TEXT PRIMARY KEY,
    body    TEXT NOT NULL,                               -- SHA-256 of the canonical request
    job     TEXT NOT NULL REFERENCES jobs (job),
    created TEXT NOT NULL
) STRICT;
