"""The tables of a sweep's report: every point, the grid of two axes, the front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pdd_plan.report import digits
from pdd_plan.report.blocks import Block, Column, Mark, Sentence, Sentences, Table, Text
from pdd_plan.report.digits import MISSING, clean
from pdd_plan.report.sweep import (
    BASELINES,
    COST,
    KINDS,
    KINDS_OF_SERVICES,
    LIMIT,
    SweepAxis,
    SweepReport,
    SweepRow,
    Varied,
)
from pdd_plan.report.sweep_charts import other_names
from pdd_plan.report.sweep_words import SweepLabels

MOST_SHOWN = 60
"""Points that the console shows of one axis."""
CHEAPEST_SHOWN = 20
"""Points that it shows of more."""
ROLES = ("prefill", "relay", "decode")


@dataclass(frozen=True)
class _Shown:
    """A column: its heading and how to write it."""

    label: str
    text: Callable[[SweepRow], str]
    right: bool = True


def point_name(report: SweepReport, row: SweepRow) -> str:
    """Return the values of a point, as written, each with its path where there are several.

    Parameters
    ----------
    report : SweepReport
        The sweep.
    row : SweepRow
        One of its points.
    """
    names = short_names(report)
    parts = []
    for axis, step in zip(report.axes, row.steps, strict=True):
        for item in axis.varied:
            text = clean(item.texts[step])
            parts.append(f"{names[item.path]} {text}" if len(names) > 1 else text)
    return ", ".join(parts)


def short_names(report: SweepReport) -> dict[str, str]:
    """Return for each varied path as few of its last keys as tell it from the others."""
    paths = [item.path for axis in report.axes for item in axis.varied]
    tails = {
        path: [".".join(path.split(".")[-n:]) for n in range(1, path.count(".") + 2)]
        for path in paths
    }
    return {
        path: clean(next((t for t in tails[path] if _only(t, path, paths)), path)) for path in paths
    }


def _only(tail: str, path: str, paths: Sequence[str]) -> bool:
    return not any(f".{other}".endswith(f".{tail}") for other in paths if other != path)


def all_points(report: SweepReport, labels: SweepLabels) -> Table:
    """Return a row for every point, with all that a document has room for."""
    columns = [
        *_axis_columns(report),
        *_main_columns(report, labels),
        *_baseline_columns(labels, BASELINES),
        *([] if report.services else [*_load_columns(labels), *_traffic_columns(labels)]),
        *_bought_columns(labels),
    ]
    if report.is_front:
        yes = labels.word("yes")
        columns.insert(
            0, _Shown(labels.word("on_front"), lambda r: yes if r.on_front else "", False)
        )
    heads = sum(len(axis.varied) for axis in report.axes) + report.is_front
    return _table(columns, report.rows, heads)


def short_points(report: SweepReport, labels: SweepLabels) -> tuple[Block, ...]:
    """Return what fits a terminal: the points in order, or the cheapest of very many."""
    columns = _axis_columns(report)
    rows: Sequence[SweepRow] = report.rows
    if len(report.axes) == 1:
        columns += [*_main_columns(report, labels), *_baseline_columns(labels, KINDS)]
        most = MOST_SHOWN
    else:
        columns += _main_columns(report, labels)
        most = CHEAPEST_SHOWN
    heads = sum(len(axis.varied) for axis in report.axes)
    if len(rows) <= most:
        return (_table(columns, rows, heads),)
    ranked = sorted((row for row in rows if row.planned), key=lambda row: row.amount(COST) or 0.0)
    shown = ranked[:CHEAPEST_SHOWN]
    said = labels.say("cheapest_only", shown=len(shown), count=digits.number(len(rows), 0))
    return _table(columns, shown, heads), Sentences((Sentence("", said, "faint"),))


def service_points(report: SweepReport, labels: SweepLabels, short: bool) -> tuple[Block, ...]:
    """Return a row for every service of every point with a plan.

    Parameters
    ----------
    report : SweepReport
        Of several services.
    labels : SweepLabels
        Words of the language.
    short : bool
        Only what fits a terminal.
    """
    each = [report.of_service(name).rows for name in report.services]
    rows = [row for point in zip(*each, strict=True) for row in point if row.planned]
    if short and len(rows) > MOST_SHOWN:
        said = labels.say("services_in_files", count=digits.number(len(rows), 0))
        return (Sentences((Sentence("", said, "faint"),)),)
    name = _Shown(labels.word("service"), lambda row: clean(str(row.record["service"])), False)
    columns = [*_axis_columns(report), name]
    if short:
        columns += [*_cost_columns(report, labels)[:1], _p90(labels), _goodput(labels)]
        columns += [_kind(labels), _chips(labels)]
    else:
        columns += [*_cost_columns(report, labels), _p90(labels), _kind(labels), _chips(labels)]
        columns += [_demand(labels), _goodput(labels), *_traffic_columns(labels), _gbps(labels)]
    heads = sum(len(axis.varied) for axis in report.axes) + 1
    return (_table(columns, rows, heads),)


def grid_table(report: SweepReport, labels: SweepLabels) -> tuple[Block, ...]:
    """Return cost per token over two axes, each field with the letter of its kind of fleet."""
    down, across = report.axes
    fields: dict[tuple[int, ...], Text] = {}
    best = min((row.amount(COST) or 0.0 for row in report.rows if row.planned), default=None)
    for row in report.rows:
        kind = str(row.record["architecture"])
        letter = f" {labels.word(f'letter.{kind}')}" if kind in KINDS_OF_SERVICES else ""
        cost = row.amount(COST)
        mark: Mark = "best" if cost is not None and cost == best else ""
        fields[row.steps] = (
            Text(digits.money(cost) + letter, mark) if row.planned else Text(MISSING)
        )
    rows = tuple(
        (Text(clean(name)), *(fields[i, j] for j in range(len(across.names))))
        for i, name in enumerate(down.names)
    )
    columns = (Column(""), *(Column(clean(name), right=True) for name in across.names))
    letters = {key: labels.word(f"letter.{name}") for key, name in _LETTERS.items()}
    key = "letters_of_services" if report.services else "letters"
    said = labels.say(key, currency=clean(report.currency), **letters)
    axes = labels.say("rows_of", path=_paths(down), other=_paths(across))
    notes = Sentences((Sentence("", axes, "faint"), Sentence("", said, "faint")))
    return Table(columns, rows, wide=True), notes


_LETTERS = {"single": "single_site", "cross": "cross_site", "pdd": "pdd", "mixed": "mixed"}


def front_table(report: SweepReport, labels: SweepLabels, short: bool) -> Table:
    """Return the points of the front by growing P90 TTFT; several fronts under each other."""
    rows = [row for row in report.rows if row.on_front]
    names = list(dict.fromkeys(", ".join(other_names(report, row)) for row in report.rows))

    def order(row: SweepRow) -> tuple[int, float]:
        return names.index(", ".join(other_names(report, row))), row.amount("ttft_p90_s") or 0.0

    columns = _axis_columns(report, labels.word("limit"))
    columns += [_p90(labels), *_cost_columns(report, labels), _kind(labels), _chips(labels)]
    if not short:
        columns += [*_load_columns(labels), *_traffic_columns(labels), *_bought_columns(labels)]
    heads = sum(len(axis.varied) for axis in report.axes)
    return _table(columns, sorted(rows, key=order), heads)


def _paths(axis: SweepAxis) -> str:
    return ", ".join(clean(item.path) for item in axis.varied)


def _table(columns: Sequence[_Shown], rows: Sequence[SweepRow], heads: int) -> Table:
    cells = tuple(
        tuple(Text(column.text(row), "" if row.planned else "faint") for column in columns)
        for row in rows
    )
    return Table(tuple(Column(c.label, c.right) for c in columns), cells, heads)


def _axis_columns(report: SweepReport, limit: str = "") -> list[_Shown]:
    names = short_names(report)
    if limit:
        names[LIMIT] = limit

    def column(number: int, item: Varied) -> _Shown:
        right = item.numbers is not None
        return _Shown(names[item.path], lambda row: clean(item.texts[row.steps[number]]), right)

    return [column(n, item) for n, axis in enumerate(report.axes) for item in axis.varied]


def _cost_columns(report: SweepReport, labels: SweepLabels) -> list[_Shown]:
    currency = clean(report.currency)
    return [
        _money(labels.word("per_hour", currency=currency), "usd_per_hour"),
        _money(labels.word("per_m_out", currency=currency), COST),
    ]


def _money(label: str, key: str) -> _Shown:
    return _Shown(label, lambda row: digits.money(row.amount(key)))


def _p90(labels: SweepLabels) -> _Shown:
    return _time(labels.word("p90_ttft"), "ttft_p90_s")


def _kind(labels: SweepLabels) -> _Shown:
    def text(row: SweepRow) -> str:
        kind = row.record["architecture"]
        return labels.kind(kind) if row.planned else labels.status(row.record["status"])

    return _Shown(labels.word("kind"), text, False)


def _chips(labels: SweepLabels) -> _Shown:
    def text(row: SweepRow) -> str:
        return "+".join(str(row.record[f"{r}_chips"]) for r in ROLES) if row.planned else MISSING

    return _Shown(labels.word("chips_by_role"), text)


def _main_columns(report: SweepReport, labels: SweepLabels) -> list[_Shown]:
    p90 = [] if report.services else [_p90(labels)]  # each service has its own
    return [*_cost_columns(report, labels), *p90, _kind(labels), _chips(labels)]


def _time(label: str, key: str) -> _Shown:
    return _Shown(label, lambda row: digits.seconds(row.amount(key)))


def _load_columns(labels: SweepLabels) -> list[_Shown]:
    bcr = _Shown(labels.word("bcr"), lambda row: digits.number(row.amount("bcr")))
    return [_goodput(labels), bcr]


def _goodput(labels: SweepLabels) -> _Shown:
    return _rate(labels.word("goodput"), "goodput_requests_per_s")


def _demand(labels: SweepLabels) -> _Shown:
    return _rate(labels.word("demand"), "demand_requests_per_s")


def _rate(label: str, key: str) -> _Shown:
    return _Shown(label, lambda row: digits.rate(row.amount(key)))


def _traffic_columns(labels: SweepLabels) -> list[_Shown]:
    return [
        _time(labels.word("p50_ttft"), "ttft_p50_s"),
        _time(labels.word("p99_ttft"), "ttft_p99_s"),
        _time(labels.word("tpot"), "tpot_mean_s"),
        _Shown(
            labels.word("threshold"), lambda row: digits.significant(row.amount("threshold"), 4)
        ),
        _Shown(
            labels.word("relay_tokens_short"),
            lambda row: digits.percent(row.amount("relay_token_fraction")),
        ),
    ]


def _bought_columns(labels: SweepLabels) -> list[_Shown]:
    return [_gbps(labels), _Shown(labels.word("gap"), lambda row: digits.gap(row.amount("gap")))]


def _gbps(labels: SweepLabels) -> _Shown:
    return _Shown(labels.word("gbps"), lambda row: digits.significant(row.amount("line_gbps"), 4))


def _baseline_columns(labels: SweepLabels, names: Sequence[str]) -> list[_Shown]:
    return [_money(labels.word(name), f"{name}_{COST}") for name in names]
