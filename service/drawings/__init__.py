"""Drawings of results: SVG by itself, or as part of a page; pure functions from figures to shapes."""
