"""Measures that are a cosine between two matrices, with deficits that are never found by subtracting from one."""
