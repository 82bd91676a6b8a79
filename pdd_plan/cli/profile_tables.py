"""Profiles as tables: what there is, and what each number rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pdd_plan.catalog import (
    PriceQuote,
    ProfileRow,
    chip_names,
    describe_chip,
    describe_link,
    describe_model,
    link_names,
    load_chip,
    load_link,
    load_model,
    model_names,
)
from pdd_plan.cli.tables import Listing
from pdd_plan.errors import InputError, Issue
from pdd_plan.report.digits import MISSING, number, significant
from pdd_plan.report.tidy import Tidy, Value
from pdd_plan.units import nearest

Describe = Callable[[str | Path], list[ProfileRow]]


def listing(kind: str) -> Listing:
    """Return the table of all shipped profiles of a kind.

    Parameters
    ----------
    kind : str
        ``chips``, ``models`` or ``links``.
    """
    return {"chips": _chips, "models": _models, "links": _links}[kind]()


def details(name: str) -> tuple[str, list[Listing]]:
    """Return the title of a profile, and its tables: numbers, sources and notes.

    Parameters
    ----------
    name : str
        Name or file of a chip, a model or a link; a chip wins over a model of the same name.

    Raises
    ------
    InputError
        If there is no such profile, or it is malformed.
    """
    rows = _describe(name)(name)
    title = next((row.value for row in rows if row.label == "name"), name)
    notes = [row.value for row in rows if row.label == "note"]
    facts = [row for row in rows if row.label not in ("name", "note")]
    sources = list(dict.fromkeys((row.source, row.date) for row in facts if row.source))
    shown = tuple(
        (
            row.label,
            f"{row.value} {row.unit}".strip(),
            row.confidence,
            str(sources.index((row.source, row.date)) + 1) if row.source else "",
        )
        for row in facts
    )
    keys = ("fact", "value", "unit", "confidence", "date", "source")
    raw = tuple((r.label, r.value, r.unit, r.confidence, r.date, r.source) for r in facts)
    labels = ("", "Value", "Confidence", "Source")
    tables = [Listing("Numbers", labels, shown, Tidy("facts", keys, raw), frozenset({3}))]
    numbered = [(str(i), date, text) for i, (text, date) in enumerate(sources, start=1)]
    origin = Tidy("sources", ("number", "date", "source"), tuple(numbered))
    tables.append(Listing("Sources", ("", "Date", "Source"), tuple(numbered), origin))
    if notes:
        cells = tuple((note,) for note in notes)
        tables.append(Listing("Notes", ("Remark",), cells, Tidy("notes", ("note",), cells)))
    return title, tables


def _describe(name: str) -> Describe:
    """Return what reads a profile, by the file's kind or by the name."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        from pdd_plan.catalog.documents import read_yaml

        data = read_yaml(path, name).data
        kind = data.get("kind") if isinstance(data, dict) else None
        return {"model": describe_model, "link": describe_link}.get(str(kind), describe_chip)
    if path.suffix == ".json" or path.is_dir():
        return describe_model
    loads = ((load_chip, describe_chip), (load_model, describe_model), (load_link, describe_link))
    for load, describe in loads:
        try:
            load(name)
        except InputError as error:
            if error.issues[0].message.startswith("unknown"):
                continue
            raise
        return describe
    near = nearest(name, [*chip_names(), *model_names(), *link_names()])
    mend = f"did you mean {near}?" if near else "`pdd-plan profiles list` shows all"
    raise InputError(Issue(f"there is no profile {name}", help=mend))


def _chips() -> Listing:
    rows: list[tuple[Value, ...]] = []
    shown = []
    for name in chip_names():
        chip = load_chip(name)
        low = len(chip.low_confidence())
        peaks = [chip.flop_per_s.get(kind) for kind in ("bf16", "fp8")]
        rows.append((name, chip.title, chip.memory_bytes, chip.memory_bytes_per_s, *peaks, low))
        shown.append(
            (
                name,
                _scaled(chip.memory_bytes, 2**30),
                _scaled(chip.memory_bytes_per_s, 1e12),
                *(_scaled(peak, 1e12) for peak in peaks),
                str(low) if low else "",
                _range(chip.prices),
            )
        )
    keys = ("name", "title", "memory_bytes", "memory_bytes_per_s", "bf16_flop_per_s",
            "fp8_flop_per_s", "low_confidence_numbers")  # fmt: skip
    labels = ("Chip", "GiB", "TB/s", "bf16 TFLOP/s", "fp8", "Unsure", "Prices seen, an hour")
    right = frozenset({1, 2, 3, 4, 5})
    return Listing("Chips", labels, tuple(shown), Tidy("chips", keys, tuple(rows)), right)


def _models() -> Listing:
    rows: list[tuple[Value, ...]] = []
    shown = []
    for name in model_names():
        model = load_model(name)
        cache, fixed = model.kv_bytes_per_token("bf16"), model.kv_bytes_fixed("bf16")
        rows.append((name, model.title, model.total_params, model.active_params, cache, fixed))
        shown.append(
            (
                name,
                _scaled(model.total_params, 1e9),
                _scaled(model.active_params, 1e9),
                _scaled(cache, 1e3),
                _scaled(fixed, 1e6) if fixed else "",
            )
        )
    keys = ("name", "title", "total_params", "active_params", "kv_bytes_per_token_bf16",
            "kv_bytes_fixed_bf16")  # fmt: skip
    labels = ("Model", "Weights B", "Active B", "KV kB/token", "+ MB/request")
    right = frozenset({1, 2, 3, 4})
    return Listing("Models", labels, tuple(shown), Tidy("models", keys, tuple(rows)), right)


def _links() -> Listing:
    rows: list[tuple[Value, ...]] = []
    shown = []
    for name in link_names():
        link = load_link(name)
        rows.append((name, link.title, link.link_class, link.bytes_per_s, link.rtt_s))
        speed = "" if link.bytes_per_s is None else _scaled(link.bytes_per_s, 1e9 / 8)
        rtt = "" if link.rtt_s is None else _scaled(link.rtt_s, 1e-3)
        shown.append((name, link.link_class, speed, rtt, _range(link.prices)))
    keys = ("name", "title", "class", "bytes_per_s", "rtt_s")
    labels = ("Link", "Class", "Gbps", "RTT ms", "Prices seen")
    right = frozenset({2, 3})
    return Listing("Links", labels, tuple(shown), Tidy("links", keys, tuple(rows)), right)


def _range(quotes: Sequence[PriceQuote]) -> str:
    """Return the span of quotes by currency, and by unit where it is not a chip's hour."""
    spans: dict[str, tuple[float, float]] = {}
    for quote in quotes:
        unit = quote.currency if quote.per == "chip-hour" else f"{quote.currency}/{quote.per}"
        low, high = spans.get(unit, (quote.low, quote.high))
        spans[unit] = (min(low, quote.low), max(high, quote.high))
    return "; ".join(
        f"{low:g} {unit}" if low == high else f"{low:g} to {high:g} {unit}"
        for unit, (low, high) in spans.items()
    )


def _scaled(value: float | None, unit: float) -> str:
    if value is None:
        return MISSING
    size = value / unit
    return number(size, 0) if abs(size) >= 1000 else significant(size, 4)
