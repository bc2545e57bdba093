"""The entry of the command `ordsim`.

Worker processes of `ordsim serve` import it too, as every spawned process imports its parent's main module. So it
brings nothing with it.
"""

import signal
import sys

if "--multiprocessing-fork" in sys.orig_argv:
    # This is such a worker. A Ctrl-C reaches the whole process group, but it is for the service alone, which ends its
    # workers in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


INTERRUPTED = 130


def main() -> None:
    """Run the command line and exit."""
    try:
        from service.commands import outcome  # noqa: PLC0415 - not for workers, see above
        from service.commands.application import application  # noqa: PLC0415

        sys.exit(outcome.run(application))
    except KeyboardInterrupt:  # while modules are loaded, or once more while the first one is obeyed
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
