"""The measures: one module each over `ordsim_core`, all with the same four steps (see `protocol`)."""
