-- Measures that stopped before their last shard: how many, from the first on, the result is made of. Shards beyond it that
-- were finished before this was known stay in the ledger, and are left out of the total.

CREATE TABLE prefixes (
    job     TEXT NOT NULL REFERENCES jobs (job),
    measure INTEGER NOT NULL,
    shards  INTEGER NOT NULL CHECK (shards > 0),
    PRIMARY KEY (job, measure)
) STRICT;

-- SHA-256 of the groups of the compared rows, where a job has such: an attempt after a restart must find the same.
ALTER TABLE jobs ADD COLUMN groups_digest TEXT;
