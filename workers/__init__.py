"""Where ordsim computes: arrays opened and staged, work cut into shards and spread over Dask workers."""
