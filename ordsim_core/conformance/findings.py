"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ordsim_core.conformance.kinds import Arrays, Kind
    from ordsim_core.conformance.promises import Promise


class Verdict(StrEnum):
    """How a check ended."""

    PASS = "pass"
    FAIL = "fail"
    ROUNDING = "rounding"
    """Off by no more than rounding explains: shown and counted, and no failure."""

    INFO = "info"
    """A fact that nothing was promised about."""


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes
    ----------
    check : str
        Its name.
    verdict : Verdict
    figure : float or None
        The number it turns on, if it is one.
    detail : str
        What was seen, in a sentence.
    """

    check: str
    verdict: Verdict
    figure: float | None
    detail: str


def judged(check: str, good: bool, figure: float | None, detail: str) -> Finding:
    """Make a finding that passes or fails."""
    return Finding(check, Verdict.PASS if good else Verdict.FAIL, figure, detail)


@dataclass(frozen=True)
class Report:
    """All findings about one function.

    Attributes
    ----------
    name : str
        The function.
    kind : Kind
    arrays : Arrays
        What it was called with.
    precision : str
        Of the values it returns: float64 or float32.
    promises : tuple of Promise
        Those it was held to.
    findings : tuple of Finding
        In the order of the checks.
    """

    name: str
    kind: Kind
    arrays: Arrays
    precision: str
    promises: tuple[Promise, ...]
    findings: tuple[Finding, ...]

    @property
    def failed(self) -> tuple[Finding, ...]:
        """The findings that break a promise."""
        return self._of(Verdict.FAIL)

    @property
    def rounded(self) -> tuple[Finding, ...]:
        """The findings that are off by rounding alone."""
        return self._of(Verdict.ROUNDING)

    def find(self, check: str) -> Finding:
        """Return the finding of a check.

        Raises
        ------
        KeyError
            If no check of the suite has this name.
        """
        for finding in self.findings:
            if finding.check == check:
                return finding
        raise KeyError(check)

    def _of(self, verdict: Verdict) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.verdict is verdict)
