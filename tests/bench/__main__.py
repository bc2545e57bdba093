"""Benchmarks: `make bench`, or `python tests/bench --help`. One table in the terminal, and one JSON file.

What is compared is measured in the same run, in turns, on one thread, with rows that were not timed before, after
compilation; figures are medians. Targets are figures that prototypes of the algorithms reached, or that were decided
upon; the table says of each whether this run met it. To miss one is no error: a machine may be busy, or lack AVX-512.
"""

import os
import sys

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

if __name__ == "__main__":
    # Before numpy, scipy, scikit-learn and numba are imported: they read these then.
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    import run

    sys.exit(run.main())
