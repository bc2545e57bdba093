"""Measures of nearest neighbours: which rows are near each row, in one space and in the other."""
