-- Which rows of the arrays are compared, where that depends on their content: an attempt after a restart must find the same.
ALTER TABLE jobs ADD COLUMN rows_digest TEXT;

-- SHA-256 of all that results follow from, and the job that they were taken over from.
ALTER TABLE jobs ADD COLUMN reuse_key TEXT;
ALTER TABLE jobs ADD COLUMN reused_from TEXT;

CREATE INDEX jobs_by_reuse_key ON jobs (reuse_key, number) WHERE reuse_key IS NOT NULL;
