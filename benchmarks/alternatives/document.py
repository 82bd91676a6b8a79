"""The section of `docs/benchmarks.md` about the alternatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks.pages import table

if TYPE_CHECKING:
    from benchmarks.alternatives.__main__ import Entry

TITLE = "## Against what one would use instead"

INTRODUCTION = """\
`python -m benchmarks.alternatives --write` makes this section: every contender in a process of its
own, in turn; medians (runs each: {repeat}). Memory is the most resident. "Search" leaves out
the start of the interpreter and imports. {load}. On a busy machine seconds grow and ratios stay."""

ONE = """\
### One site: DeepSeek-V3 on 32 H200

4,000 tokens in, 500 out, mean TTFT within 2 s, mean TPOT within 50 ms: which split of 32 chips into
prefill and decode carries most? aiconfigurator searches parallelism and batch sizes of both sides
(`cli default --serving-mode disagg`); the enumeration evaluates, and the last line simulates with
bisected rates, every split into engines of one shape each."""

COVERS = """\
The answers are not the same thing. aiconfigurator looks kernels up that were measured on the chip
itself, over more parallelisms and batch sizes, and writes launch files; where its tables cover the
chip, its times of a single engine are the better founded. They are those of full batches at a
steady rate: there are no arrivals and so no waits, no percentiles, no second site. pdd-plan's times
come from a roofline fitted to public runs; its answer counts waits and percentiles, and goes on to
several sites and chips, lines to be bought, the routing threshold, prices and a proof. What is
compared here is the work of getting from the question to a split."""

TWO = """\
### Two sites: the quickstart

Prefill and relay in one city, decode in another, a line between them; counts, bandwidth and
threshold are looked for. pdd-plan also chooses the shapes among all that fit; the other two are
given them, which makes theirs a small part of the question. The enumeration goes from the cheapest
fleet up, by the same planning rule, until one holds. The descent starts from a large fleet at each
of four thresholds and takes away what 20,000 simulated requests do not miss."""

TWO_NOTE = """\
Enumeration confirms the plan's cost. What the simulation finds can be cheaper, since it asks only
for the limits over all requests: the planning rule asks for them on every path in use, and for no
more than 3 % of requests waiting for a decode slot."""

GROWTH = """\
### Request types

The quickstart with its traffic cut into more and more weighted request types
(`workload.max_atoms`). Evaluations are of the full model, all tables built afresh, one process."""


def section(
    one: Sequence[Entry],
    two: Sequence[Entry],
    growth: Sequence[Entry],
    load: str,
    missing: str,
    repeat: int,
) -> str:
    """Return the section below its title, as Markdown.

    Parameters
    ----------
    one, two, growth : sequence of Entry
        Results for the one site, the two sites, and by number of request types.
    load : str
        What else the machine did.
    missing : str
        Why aiconfigurator is not there; empty where it is.
    repeat : int
        Runs of each.
    """
    parts = [INTRODUCTION.format(repeat=repeat, load=load), ONE, _table(one)]
    rival = next((entry for entry in one if entry.name.startswith("aiconfigurator")), None)
    parts.append(_ratios(one, rival) if rival is not None else missing + ".")
    parts += [COVERS, TWO, _table(two), TWO_NOTE, GROWTH, _growth(growth)]
    return "\n\n".join(parts)


def _table(entries: Sequence[Entry]) -> str:
    rows = []
    for entry in entries:
        answer = entry.answer
        value = "none in time" if answer["value"] is None else f"{answer['value']:.2f}"
        rows.append(
            (
                entry.name,
                f"{entry.wall_s:.1f} s",
                f"{entry.cpu_s:.1f} s",
                f"{entry.search_s:.2f} s",
                f"{entry.rss_bytes / 2**20:.0f} MiB",
                f"{answer['looked_at']:,}",
                f"{value} {answer['unit']}: {answer['fleet']}",
            )
        )
    heads = (
        "planner", "whole command", "processor", "search", "memory", "fleets looked at", "answer",
    )  # fmt: skip
    return table(heads, rows, "lrrrrrl")


def _ratios(entries: Sequence[Entry], rival: Entry) -> str:
    own = next(entry for entry in entries if entry.name == "pdd-plan")
    return (
        f"Against aiconfigurator, pdd-plan's search is {rival.search_s / own.search_s:.0f} times "
        f"faster, its whole command {rival.wall_s / own.wall_s:.0f} times "
        f"({rival.cpu_s / own.cpu_s:.0f} times in processor time), in "
        f"{own.rss_bytes / rival.rss_bytes:.0%} of the memory."
    )


def _growth(entries: Sequence[Entry]) -> str:
    rows = [
        (
            f"{entry.answer['atoms']:,}",
            f"{entry.search_s:.2f} s",
            f"{entry.rss_bytes / 2**20:.0f} MiB",
            f"{entry.answer['evaluations_per_s']:.0f}",
            f"{entry.answer['value']:.2f} {entry.answer['unit']}",
        )
        for entry in entries
    ]
    heads = ("request types", "search, with proof", "memory", "evaluations/s", "cost")
    return table(heads, rows, "rrrrr")
