"""From a request to how its rows are found, and from what was found to the rows of each array."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ordsim_core.distances import Distance
from workers.selecting import Chosen
from workers.selection import Candidate, Selection

if TYPE_CHECKING:
    from service.schemas import Request
    from workers.groups import Labels
    from workers.selection import Findings
    from workers.subjects import Side


@dataclass(frozen=True)
class Choice:
    """How the rows of a job are found, and what came of it."""

    selection: Selection
    findings: Findings

    def side(self, request: Request, name: str) -> Side:
        """One array with the rows that are compared."""
        names = [one.name for one in self.selection.arrays]
        return replace(request.side(name), chosen=self._chosen(names.index(name)))

    def labels(self, request: Request) -> Labels | None:
        """Where the labels of the compared rows are."""
        found = request.labels(self.findings.selected[0])
        return None if found is None else replace(found, chosen=self._chosen(0))

    def dropped(self, name: str) -> tuple[int, int]:
        """How many rows and columns of one array were left out."""
        place = [one.name for one in self.selection.arrays].index(name)
        return self.findings.dropped(place), self.findings.columns_dropped[place]

    def left_out(self) -> list[tuple[str, str]]:
        """Say which rows and columns were left out, and why, each with the code of a warning."""
        names = [one.name for one in self.selection.arrays]
        found = [
            ("rows-dropped", f"{missing} of the {of} rows of {name} have no partner by their identifiers.")
            for name, missing, of in zip(names, self.findings.unmatched, self.findings.selected, strict=True)
            if missing
        ]
        if self.findings.not_finite:
            found.append(
                (
                    "rows-dropped",
                    f"{self.findings.not_finite} rows that are not finite in one array left all of them: "
                    f"{self._not_finite(names[0])}.",
                )
            )
        found += [
            ("columns-dropped", f"{columns} columns of {name} are not finite.")
            for name, columns in zip(names, self.findings.columns_dropped, strict=True)
            if columns
        ]
        return found

    @property
    def identified(self) -> bool:
        """Whether the rows of the first array have identifiers."""
        return self.selection.arrays[0].identifiers is not None

    def _not_finite(self, first: str) -> str:
        """Name rows that are not finite, as the first array stores them."""
        shown = self.findings.first_not_finite
        more = self.findings.not_finite - len(shown)
        return f"rows {', '.join(map(str, shown))} of {first}" + (f", and {more} more" if more else "")

    def _chosen(self, place: int) -> Chosen | None:
        """None where all rows of the reference are compared, in order: its copy is then that of any other job."""
        whole = not self.findings.not_finite and not any(self.findings.columns_dropped)
        if whole and replace(self.selection, on_non_finite="error").plain:
            return None
        return Chosen(self.selection, place, self.findings.digest)


def selection(request: Request) -> Selection | None:
    """Say how the rows are found; None where there is nothing to find out before the arrays are staged."""
    found = Selection(
        tuple(
            Candidate(
                name=name,
                reference=request.side(name).reference,
                distances=array.distance is Distance.PRECOMPUTED,
                identifiers=request.identifiers_of(name),
                index=request.index_of(name),
                index_pointer=request.index_pointer(name),
            )
            for name, array in request.arrays().items()
        ),
        request.joins,
        request.on_non_finite,
        request.missing_chunks,
    )
    if found.plain and all(one.identifiers is None for one in found.arrays):
        return None
    return found
