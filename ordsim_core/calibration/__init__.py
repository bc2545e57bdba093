"""Permutation calibration: what a score is worth against those that chance gives."""
