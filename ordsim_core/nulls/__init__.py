"""Ordinal statistics of permuted rows, on designs that are drawn once: null distributions, profiles, differences."""
