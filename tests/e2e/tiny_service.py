"""`ordsim` with the measure for tests: registered before the service reads which measures there are."""

import sys

import tiny_measure  # noqa: F401 - registers itself

from service.cli import main

if __name__ == "__main__":
    sys.exit(main())
