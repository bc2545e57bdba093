"""What drawings look like, by the classes of their shapes; light, dark and on paper."""

from __future__ import annotations

from service.drawings import contrast

LIGHT = (
    "--paper:#ffffff;--ink:#1b2430;--faint:#667085;--line:#e4e7ec;--score:#0f766e;--band:#5eaaa3;--null:#c3cad5;"
    "--limit:#b45309;--cell:#0f766e;--on-bw:#000000;--on-wb:#ffffff"
)
DARK = (
    "--paper:#11161d;--ink:#e6eaf0;--faint:#97a3b4;--line:#28313d;--score:#4fd1c5;--band:#2f8f87;--null:#465263;"
    "--limit:#f0a53c;--cell:#2dd4bf;--on-bw:#ffffff;--on-wb:#000000"
)
FONT = 'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif'

SHAPES = f"""
.drawing{{font:12px {FONT};fill:var(--ink);max-width:100%;height:auto}}
.drawing .paper{{fill:var(--paper)}}
.drawing .title{{font-size:14px;font-weight:600}}
.drawing .figure{{font-size:14px;font-weight:600;fill:var(--score)}}
.drawing .faint{{fill:var(--faint);font-size:11px}}
.drawing .grid{{stroke:var(--line)}}
.drawing .null{{fill:var(--null)}}
.drawing .band{{fill:var(--band)}}
.drawing .loose{{fill:none;stroke:var(--band);stroke-width:1.5;stroke-dasharray:3 2}}
.drawing .bars{{fill:var(--band)}}
.drawing .score{{fill:var(--score)}}
.drawing .scored{{stroke:var(--score);stroke-width:2}}
.drawing .limit{{stroke:var(--limit);stroke-width:1.5}}
.drawing .limited{{fill:var(--limit)}}
.drawing .baseline{{stroke:var(--faint);stroke-width:1.5;stroke-dasharray:4 3}}
.drawing .most{{stroke:var(--ink);stroke-width:1.5}}
.drawing .cell{{fill:var(--cell)}}
.drawing .undefined{{fill:var(--line)}}
.drawing .best{{fill:none;stroke:var(--limit);stroke-width:2.5}}
.drawing .on-bb{{fill:#000000;font-size:11px}}
.drawing .on-bw{{fill:var(--on-bw);font-size:11px}}
.drawing .on-wb{{fill:var(--on-wb);font-size:11px}}
.drawing .on-ww{{fill:#ffffff;font-size:11px}}
.drawing .off{{font-size:11px}}
"""

ALONE = f"svg{{{LIGHT}}}@media (prefers-color-scheme:dark){{svg{{{DARK}}}}}@media print{{svg{{{LIGHT}}}}}{SHAPES}"
"""For a drawing in a file of its own."""


def ground(palette: str, strength: float) -> contrast.Colour:
    """Colour of a cell with so much of its colour, 0 to 1, on paper."""
    named = dict(part.split(":") for part in palette.split(";"))
    return contrast.over(contrast.colour(named["--paper"]), contrast.colour(named["--cell"]), strength)


def ink(strength: float) -> str:
    """Name the class of what is written on such a cell: black or white, first in light, then in dark."""
    return "on-" + "".join("b" if contrast.dark_ink(ground(palette, strength)) else "w" for palette in (LIGHT, DARK))
