"""What can be wrong with the numbers handed in, each naming the place and the way out."""

from __future__ import annotations


class DataError(ValueError):
    """The values of an array do not permit the computation that was asked for."""


class NonFiniteError(DataError):
    """A value is NaN or infinite."""

    def __init__(self, row: int, column: int) -> None:
        super().__init__(
            f"row {row}, column {column} is not finite; remove or replace the rows that hold NaN or infinity"
        )
        self.row = row
        self.column = column


class ZeroVectorError(DataError):
    """A row has no direction, and the angle to it is undefined: it is zero, or, for correlation, constant."""

    def __init__(self, row: int, distance: str = "cosine") -> None:
        what = "constant" if distance == "correlation" else "all zeros"
        super().__init__(
            f"row {row} is {what}, so its {distance} distance to any other row is undefined; "
            "remove the row or use the euclidean distance"
        )
        self.row = row


class RangeTooWideError(DataError):
    """Values lie so many powers of two apart that float64 cannot hold their distances.

    `row` is the row concerned, or None when it takes the whole array to see it.
    """

    def __init__(self, binades: int, limit: int, row: int | None = None) -> None:
        place = "the array" if row is None else f"row {row}"
        super().__init__(
            f"the values of {place} span {binades} powers of two from the largest magnitude to the last bit of "
            f"the smallest, and distances in float64 allow {limit}; set negligible values to zero or rescale columns"
        )
        self.binades = binades
        self.limit = limit
        self.row = row


class NotRepresentableError(DataError):
    """An integer has more significant bits than float64 can hold."""

    def __init__(self, row: int, column: int) -> None:
        super().__init__(
            f"the integer in row {row}, column {column} has more than 53 significant bits and no exact float64 "
            "value; convert the array to float64, or scale it, before storing it"
        )
        self.row = row
        self.column = column


class AsymmetricDistanceError(DataError):
    """Precomputed distances differ by direction, and quadruplets compare pairs without one."""

    def __init__(self, row: int, column: int, name: str) -> None:
        super().__init__(
            f"the precomputed distances of {name} are not symmetric: row {row}, column {column} differs from row "
            f"{column}, column {row}; average the two directions, or compare triplets (TSI) only"
        )
        self.row = row
        self.column = column
        self.name = name
