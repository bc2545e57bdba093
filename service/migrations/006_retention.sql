-- When what a finished job left was let go of: its results, shards and earlier events. The job itself stays.

ALTER TABLE jobs ADD COLUMN expired TEXT;
CREATE INDEX jobs_by_finish ON jobs (finished) WHERE expired IS NULL;
