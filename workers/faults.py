"""What is said of shards that cannot be counted, for reasons that are not in their data."""

from __future__ import annotations

import errno

from workers.errors import ProblemError


def too_large() -> ProblemError:
    """A shard found no more memory."""
    return ProblemError(
        "worker-lost",
        "A shard found no more memory on its worker. Give the workers more memory, or tell the service with "
        "--worker-memory how much they may use; or compare fewer rows.",
        "system",
    )


def unavailable() -> ProblemError:
    """The scheduler went and stayed away."""
    return ProblemError(
        "cluster-unavailable", "The connection to the scheduler was lost and did not come back.", "system"
    )


def storage_problem(error: OSError) -> ProblemError:
    """Name a storage error without the path in it, which may be absolute."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ProblemError(
            "out-of-space", "The staging directory is full. Free space there, then submit again.", "system"
        )
    reason = error.strerror or type(error).__name__
    return ProblemError("storage-unavailable", f"Reading the data kept failing: {reason}.", "system")
