-- Whose a job is: the id of the API key that submitted it, or '' where the service asked for no keys. Idempotency keys
-- are the owner's: two owners may use the same one for different jobs.

ALTER TABLE jobs ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX jobs_by_owner ON jobs (owner, number);

CREATE TABLE owned_idempotency (
    owner   TEXT NOT NULL,
    key     TEXT NOT NULL,
    body    TEXT NOT NULL,                               -- SHA-256 of the canonical request
    job     TEXT NOT NULL REFERENCES jobs (job),
    created TEXT NOT NULL,
    PRIMARY KEY (owner, key)
) STRICT;
INSERT INTO owned_idempotency SELECT '', key, body, job, created FROM idempotency;
DROP TABLE idempotency;
ALTER TABLE owned_idempotency RENAME TO idempotency;
