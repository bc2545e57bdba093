"""What `python tests/bench` does, once its process computes on one thread."""

from __future__ import annotations

import argparse
import json
import os
import time
import traceback
from dataclasses import asdict
from pathlib import Path

import end_to_end
import exact_quadruplets
import exact_triplets
import linear_cka
import load
import machine
import memory
import neighbours
import nulls
import packages
import pairwise
import samples
import steps
import table
import units
from compiling import compile_kernels
from figures import Options, Section
from rich.console import Console
from table import Measured

LATEST = Path(__file__).parent / "results" / "latest.json"
PLAIN_WIDTH = 160
"""Columns where the output is no terminal."""

SECTIONS = (
    Section("exact-tsi", "Exact TSI, ns for an anchor and a target", exact_triplets.measure),
    Section("counting", "Counting inversions, ns an element", steps.counting),
    Section("sorting", "Sorting words, ns a word", steps.sorting_words),
    Section("samples", "Sampled TSI and QSI, ns a sample", samples.measure),
    Section("units", "Units against independent samples: width at equal time", units.measure),
    Section("exact-qsi", "Exact QSI with its TSI", exact_quadruplets.measure),
    Section("nulls", "Statistics of permuted rows, from stored ranks", nulls.measure),
    Section("linear-cka", "Linear CKA and RSA from moments, against three Gram products", linear_cka.measure),
    Section("pairwise", "RSA and RBF CKA, ns for a pair of rows", pairwise.measure),
    Section("neighbours", "Mutual kNN, CKNNA and canonical correlations", neighbours.measure),
    Section("packages", "Public packages that are installed, times as long as ours", packages.measure),
    Section("memory", "Private memory of exact TSI", memory.measure),
    Section("load", "A service with two workers under load", load.measure),
    Section("end-to-end", "A job through a service with one worker", end_to_end.measure),
)


def main() -> int:
    """Measure, print and write; 1 if something could not be measured, however many targets were missed."""
    arguments = _arguments()
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PLAIN_WIDTH)
    options = Options(arguments.quick, arguments.repetitions, arguments.all_sizes, arguments.job_seconds)
    begin = time.perf_counter()
    facts = machine.facts()
    console.print("compiling kernels")
    compile_kernels()
    wanted = [section for section in SECTIONS if not arguments.only or section.name in arguments.only]
    measured = [_measure(section, options, console) for section in wanted]
    facts["loadAfter"] = round(os.getloadavg()[0], 2)
    table.show(console, facts, measured)
    if options.quick:
        console.print("[bold]a quick run shows that everything runs: its figures mean nothing[/bold]")
    found = table.document(facts, asdict(options), measured, time.perf_counter() - begin)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(found, indent=1) + "\n")
    console.print(f"{found['seconds']:.0f} s; every repetition is in {arguments.output}")
    return int(any(one.failure is not None for one in measured))


def _measure(section: Section, options: Options, console: Console) -> Measured:
    """Measure one section as far as it goes: others do not depend on it."""
    console.print(f"measuring {section.name}")
    found, begin = Measured(section), time.perf_counter()
    try:
        for figure in section.measure(options):
            found.figures.append(figure)
            console.print(f"  {figure.case}: {figure.name} {figure.value:.3g}", style="dim", markup=False)
    except Exception as error:
        found.failure = f"{type(error).__name__}: {error}"
        traceback.print_exc()
    found.seconds = time.perf_counter() - begin
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/bench", description="Measure how fast ordsim is.")
    names = [section.name for section in SECTIONS]
    parser.add_argument("--quick", action="store_true", help="small arrays: shows that it runs, figures mean nothing")
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument("--repetitions", type=int, metavar="COUNT", help="of everything (5; quick: 2)")
    parser.add_argument("--all-sizes", action="store_true", help="exact TSI of all kinds of data at all N and D")
    parser.add_argument("--job-seconds", type=float, metavar="SECONDS", help="length of the job (60; quick: 2)")
    parser.add_argument("--output", type=Path, default=LATEST, metavar="FILE", help=f"JSON ({LATEST})")
    arguments = parser.parse_args()
    arguments.repetitions = max(1, arguments.repetitions or (2 if arguments.quick else 5))
    arguments.job_seconds = arguments.job_seconds or (2.0 if arguments.quick else 60.0)
    return arguments
