"""Similarity from all pairs of rows, tile by tile of the pair matrix: CKA of kernels that do not factor, and RSA."""
