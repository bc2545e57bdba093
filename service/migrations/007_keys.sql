-- API keys: what is kept is the hash of a secret of 256 random bits, never the secret. Revoked keys stay, so that the
-- owner of a job can be told.

CREATE TABLE keys (
    id                TEXT PRIMARY KEY,
    digest            TEXT NOT NULL,                     -- SHA-256 of the secret
    label             TEXT NOT NULL,
    scopes            TEXT NOT NULL,                     -- JSON list
    created           TEXT NOT NULL,
    expires           TEXT,
    revoked           TEXT,
    queued_limit      INTEGER,                           -- jobs; NULL is no limit
    running_limit     INTEGER,
    comparisons_limit TEXT                               -- a day; decimal, it may exceed 64 bits
) STRICT;

-- Comparisons of a job, decimal: those it may make at most, and when it is final those it made.
ALTER TABLE jobs ADD COLUMN comparisons TEXT NOT NULL DEFAULT '0';
