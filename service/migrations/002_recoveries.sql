-- How often a job was taken up again without having got further, and how far it had got the last time.

ALTER TABLE jobs ADD COLUMN recoveries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN recovered_shards INTEGER NOT NULL DEFAULT 0;
