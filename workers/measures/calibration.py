"""What a client may ask of a calibration."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

PERMUTATIONS_LIMIT = 100_000
LEAST_STATISTIC_ROWS = 4


class EarlyStop(BaseModel):
    """Stop at the permutation with so many exceedances (Besag and Clifford 1991)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    exceedances: int = Field(default=10, ge=1, le=PERMUTATIONS_LIMIT, strict=True)


class Calibration(BaseModel):
    """Permutations of rows that a score is compared with.

    Attributes
    ----------
    permutations : int
    alpha : float
        Level of the threshold.
    scheme : str
        Which permutations there are: of all rows, of the rows within each group, of whole groups.
    smax : float or None
        Largest value of the measure, for the calibrated score; None for the score above the threshold as it is.
    early_stop : EarlyStop or None
    statistic : str
        "fast": where it is much cheaper, the score and its null are of another sampling design, which the result
        tells; "measure": always as the measure computes it.
    statistic_rows : int or None
        Size of a random subset of rows on which the score and its null are computed; None for as many as there are,
        or as fit into memory.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    permutations: int = Field(default=200, ge=1, le=PERMUTATIONS_LIMIT, strict=True)
    alpha: float = Field(default=0.05, gt=0, lt=1, strict=True, allow_inf_nan=False)
    scheme: Literal["rows", "within-groups", "between-groups"] = "rows"
    smax: float | None = Field(default=1.0, strict=True, allow_inf_nan=False)
    early_stop: EarlyStop | None = None
    statistic: Literal["fast", "measure"] = "fast"
    statistic_rows: int | None = Field(default=None, ge=LEAST_STATISTIC_ROWS, strict=True)
