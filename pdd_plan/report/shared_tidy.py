"""Plan of several services → tidy tables: totals, what is shared, and every table by service."""

from __future__ import annotations

from pdd_plan.fleet.plan import PlanModel
from pdd_plan.fleet.shared_plan import SharedBaseline, SharedPlan
from pdd_plan.report.tidy import (
    SUMMARY_KEYS,
    Tidy,
    Value,
    changes_table,
    models_table,
    part_rows,
    plan_rows,
    plan_tables,
)

COST = (
    "usd_per_hour",
    "chips_usd_per_hour",
    "links_usd_per_hour",
    "usd_per_million_output_tokens",
    "usd_per_million_total_tokens",
)


def shared_tables(plan: SharedPlan) -> tuple[Tidy, ...]:
    """Return every table of a plan of several services.

    Tables of one service's plan have a column for the service, and ``service_`` before their name
    where the totals have a table of that name.
    """
    stock = ("site", "chip", "available", "used", "usd_per_hour", "worth_usd_per_chip_hour")
    power = ("site", "available_w", "used_w", "worth_usd_per_kw_hour")
    links = ("from", "to", "gbps", "reserved_gbps", "max_gbps", "usd_per_hour")
    totals = (
        _summary(plan),
        models_table("shared_stock", plan.stock, stock),
        models_table("shared_power", plan.power, power),
        models_table("shared_links", plan.links, (*links, "worth_usd_per_gbps_hour")),
        _taken(plan),
        _baselines(plan),
        models_table("binding", plan.binding, ("what", "value", "limit", "unit")),
        changes_table(plan),
        Tidy("warnings", ("warning",), tuple((text,) for text in plan.warnings)),
    )
    names = {table.name for table in totals}
    return (*totals, *(_renamed(table, names) for table in _by_service(plan)))


def _renamed(table: Tidy, names: set[str]) -> Tidy:
    name = f"service_{table.name}" if table.name in names else table.name
    return Tidy(name, table.keys, table.rows)


def _by_service(plan: SharedPlan) -> list[Tidy]:
    """Return the tables of all services' plans, those of one kind under each other."""
    names = list(plan.services)
    return [
        Tidy(
            kind[0].name,
            ("service", *kind[0].keys),
            tuple(
                (name, *row) for name, table in zip(names, kind, strict=True) for row in table.rows
            ),
        )
        for kind in zip(*map(plan_tables, plan.services.values()), strict=True)
    ]


def _summary(plan: SharedPlan) -> Tidy:
    rows = plan_rows(plan, ("currency",))
    parts: tuple[tuple[str, PlanModel | None], ...] = (
        ("cost", plan.cost),
        ("demand", plan.demand),
        ("certificate", plan.certificate),
    )
    for section, part in parts:
        rows += part_rows(section, part)
    if plan.infeasibility is not None:
        rows.append(("infeasibility", "reason", plan.infeasibility.reason))
    return Tidy("summary", SUMMARY_KEYS, tuple(rows))


def _taken(plan: SharedPlan) -> Tidy:
    """One row a service and thing that is shared."""
    rows: list[tuple[Value, ...]] = []
    for stock in plan.stock:
        what = f"{stock.site} {stock.chip}"
        rows += [("chips", what, name, n, "chips") for name, n in stock.by_service.items()]
    for power in plan.power:
        rows += [("power", power.site, name, w, "W") for name, w in power.by_service.items()]
    for link in plan.links:
        what = f"{link.from_site}-{link.to_site}"
        rows += [("line", what, name, g, "Gbps") for name, g in link.by_service.items()]
    return Tidy("shared_by_service", ("kind", "what", "service", "amount", "unit"), tuple(rows))


def _baselines(plan: SharedPlan) -> Tidy:
    proof = plan.certificate
    items: list[tuple[str, SharedBaseline | SharedPlan, float | None, str | None]] = [
        (base.name, base, base.gap, base.reason) for base in plan.baselines
    ]
    items.append(("this_plan", plan, proof.gap if proof else None, None))
    rows = tuple(
        (
            name,
            item.status,
            *(getattr(item.cost, key) if item.cost is not None else None for key in COST),
            gap,
            reason,
        )
        for name, item, gap, reason in items
    )
    return Tidy("baselines", ("baseline", "status", *COST, "gap", "reason"), rows)
