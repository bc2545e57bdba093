"""Canonical correlations: angles between the spans of the columns of two arrays."""
