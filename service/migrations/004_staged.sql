-- What was staged, by the array's place in the request, with its fingerprint: a job may have more than two arrays.

ALTER TABLE jobs ADD COLUMN staged TEXT;
UPDATE jobs SET staged = json_object('x', json(x_staged), 'y', json(y_staged)) WHERE x_staged IS NOT NULL;
ALTER TABLE jobs DROP COLUMN x_staged;
ALTER TABLE jobs DROP COLUMN y_staged;
