"""What ordsim computes: ordinal similarity of two representations. Numbers in, numbers out; no I/O."""
