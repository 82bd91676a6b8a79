"""Plans made up by hand for the report tests: all their figures are invented."""

from __future__ import annotations

import json
import math
from typing import Any

from pdd_plan.fleet.plan import Plan


def cost(chips: float, links: float, per_million: float, goodput_share: float) -> dict[str, Any]:
    return {
        "usd_per_hour": chips + links,
        "chips_usd_per_hour": chips,
        "links_usd_per_hour": links,
        "usd_per_million_output_tokens": per_million,
        "usd_per_million_total_tokens": per_million / 40,
        "usd_per_million_output_tokens_at_goodput": per_million * goodput_share,
        "usd_per_million_total_tokens_at_goodput": per_million * goodput_share / 40,
    }


def times(p50: float, p90: float, p95: float | None, p99: float | None) -> dict[str, Any]:
    return {"p50": p50, "p90": p90, "p95": p95, "p99": p99, "mean": p50 * 1.2}


def latency(scale: float, relay: bool = True) -> dict[str, Any]:
    return {
        "ttft_s": times(3.1 * scale, 8.7 * scale, 10.6 * scale, 13.9 * scale),
        "ttft_direct_s": times(2.6 * scale, 8.9 * scale, 10.9 * scale, 14.2 * scale),
        "ttft_relay_s": times(4.4 * scale, 7.2 * scale, 8.4 * scale, 11.0 * scale)
        if relay
        else None,
        "tpot_s": times(0.031, 0.041, 0.043, 0.047),
        "handoff_gap_s": times(0.21, 0.305, 0.311, 0.321) if relay else None,
        "e2e_s": times(18.0, 41.0, 55.0, None),
    }


def pool(
    site: str, role: str, chip: str, engines: int, use: float, bound: str, price: float
) -> dict[str, Any]:
    chips = 8 * engines
    return {
        "site": site,
        "role": role,
        "chip": chip,
        "shape": "tp8",
        "engines": engines,
        "chips": chips,
        "utilization": use,
        "bound_by": bound,
        "usd_per_hour": chips * price,
        "usd_per_chip_hour": price,
        "chips_available": 128,
        "request_fraction": 0.22 if role == "relay" else 1.0,
        "slots_per_engine": None if role == "prefill" else 96,
        "kv_memory_utilization": 0.64,
    }


def distribution() -> dict[str, Any]:
    grid = [0.25 * k for k in range(81)]

    def curve(median: float, spread: float) -> list[float]:
        return [
            0.0 if t == 0 else 0.5 * (1 + math.erf(math.log(t / median) / spread)) for t in grid
        ]

    return {
        "time_s": grid,
        "overall": curve(3.1, 1.14),
        "direct": curve(2.6, 1.36),
        "relay": curve(4.4, 0.54),
    }


def baseline(name: str, chips: float, links: float, scale: float, bcr: float) -> dict[str, Any]:
    home = name == "single_site"
    pools = [
        pool("beijing", "prefill", "h200", 9, 0.83, "compute", chips * 0.7 / 72),
        pool(
            "beijing" if home else "shanghai", "decode", "h20", 7, 0.9, "memory", chips * 0.3 / 56
        ),
    ]
    line = {
        "from": "beijing",
        "to": "shanghai",
        "gbps": 30.0,
        "utilization": 0.62,
        "usd_per_hour": links,
    }
    return {
        "name": name,
        "status": "optimal",
        "cost": cost(chips, links, (chips + links) / 301.3, 0.97),
        "latency": latency(scale, relay=False),
        "goodput": {"requests_per_s": 12.4 / scale, "output_tokens_per_s": 86_000 / scale},
        "bcr": bcr,
        "pools": pools,
        "links": [] if home else [line],
        "gap": 0.0,
    }


def example() -> dict[str, Any]:
    """Return the data of a usual plan: direct and relayed requests, all limits met."""
    pools = [
        pool("beijing", "prefill", "h200", 9, 0.81, "compute", 3.8),
        pool("beijing", "relay", "h200", 1, 0.46, "memory", 3.8),
        pool("shanghai", "decode", "h20", 7, 0.88, "memory", 1.9),
    ]
    chips = sum(item["usd_per_hour"] for item in pools)
    return {
        "schema_version": 1,
        "tool_version": "0.1.0",
        "scenario": {"name": "agent-fleet", "sha256": "9f86d081884c7d65" * 4},
        "status": "optimal",
        "cost": cost(chips, 2.4, 1.37, 0.9),
        "slo": [
            {
                "metric": "ttft",
                "percentile": 0.9,
                "limit": 10.0,
                "predicted": 8.7,
                "met": True,
                "fraction_within": 0.934,
            },
            {
                "metric": "tpot",
                "percentile": 0.9,
                "limit": 0.06,
                "predicted": 0.041,
                "met": True,
                "fraction_within": 0.991,
            },
        ],
        "latency": latency(1.0),
        "routing": {
            "by": "hit_rate",
            "threshold": 0.93,
            "relay_request_fraction": 0.22,
            "relay_token_fraction": 0.061,
            "main_decode_token_fraction": 0.939,
            "rld_chip_fraction": 8 / 136,
            "slot_wait": 0.01,
        },
        "pools": pools,
        "links": [
            {
                "from": "beijing",
                "to": "shanghai",
                "gbps": 20.0,
                "utilization": 0.71,
                "usd_per_hour": 2.4,
                "max_gbps": 100.0,
            }
        ],
        "lanes": [{"from": "beijing", "to": "shanghai", "share": 1.0}],
        "goodput": {
            "requests_per_s": 13.4,
            "output_tokens_per_s": 93_000.0,
            "limited_by": "slo.ttft_p90",
        },
        "baselines": [
            baseline("single_site", 566.1, 0.0, 1.1, 1.0),
            baseline("cross_site", 427.9, 3.6, 1.14, 1.28),
        ],
        "bcr": 1.48,
        "bcr_reference": "single_site",
        "architecture": "pdd",
        "certificate": {
            "lower_bound_usd_per_hour": chips + 2.4,
            "gap": 0.0,
            "cuts": 14,
            "evaluations": 5_312,
            "solver": "HiGHS 1.10.0",
            "solve_time_s": 0.8,
            "model": "every prefill, relay and decode pool in use meets the limits by itself",
            "thresholds": 21,
            "flow_steps": 20,
            "recomputed_usd_per_hour": chips + 2.4,
            "recomputed_slo_met": True,
        },
        "sensitivity": [
            {
                "change": "one prefill engine fewer",
                "path": "pools.0.engines",
                "value": 8,
                "feasible": False,
                "ttft_p90_s": 11.2,
            },
            {
                "change": "h20 below 1.52 USD/h",
                "path": "sites.shanghai.chips.h20.price",
                "value": 1.52,
                "feasible": True,
                "effect": "adds nothing",
            },
            {
                "change": "30 Gbps",
                "path": "links.0.bandwidth",
                "value": 30,
                "feasible": True,
                "usd_per_hour": 413.6,
            },
        ],
        "binding": [
            {"what": "slo.ttft_p90", "value": 9.97, "limit": 10.0, "unit": "s"},
        ],
        "warnings": ["the price of h20 is of low confidence: 1.9 USD/h"],
        "assumptions": [
            {
                "path": "links.0.efficiency",
                "value": 0.9,
                "source": "default: TCP over a leased line",
                "confidence": "medium",
            },
            {
                "path": "chips.h20.memory_bytes_per_s",
                "value": 4.0e12,
                "unit": "byte/s",
                "source": "data sheet 2024-01",
                "confidence": "low",
            },
            {"path": "serving.handoff", "value": "one_shot", "source": "default"},
        ],
        "command": "pdd-plan optimize agent-fleet.yaml --set workload.rate='12 req/s'",
        "model": "deepseek-v3",
        "precision": "weights fp8, KV cache bf16",
        "demand": {
            "requests_per_s": 12.0,
            "output_tokens_per_s": 83_640.0,
            "input_tokens_per_s": 3_300_000.0,
        },
        "rejected_shapes": [
            {
                "site": "shanghai",
                "chip": "h20",
                "shape": "tp4",
                "reason": "weights 671 GB do not fit in 4 x 96 GB",
            }
        ],
        "workload": {
            "source": "traces/toolagent.jsonl.gz",
            "requests": 23_608,
            "atoms": 812,
            "mean_input_tokens": 61_204.0,
            "mean_uncached_tokens": 6_981.0,
            "mean_output_tokens": 182.0,
            "mean_hit_rate": 0.886,
            "arrival_scv": 1.4,
            "hit_rate": {
                "edges": [k / 20 for k in range(21)],
                "weights": [0.06, *([0.005] * 15), 0.015, 0.03, 0.07, 0.75],
            },
        },
        "handoff": {
            "mode": "one_shot",
            "mean_tokens": 96.0,
            "extra_relay_token_fraction": 0.0,
            "extra_main_decode_work_fraction": 0.012,
            "kv_push_gap_s": times(0.18, 0.31, 0.37, 0.51),
        },
        "ttft_distribution": distribution(),
        "front": [
            {"usd_per_hour": 371.0, "ttft_p90_s": 14.2, "label": "10 Gbps"},
            {"usd_per_hour": 412.8, "ttft_p90_s": 8.7, "label": "20 Gbps"},
            {"usd_per_hour": 455.0, "ttft_p90_s": 6.1, "label": "40 Gbps"},
        ],
    }


def infeasible() -> dict[str, Any]:
    """Return the data of a refusal with its reason and ways out."""
    data = example()
    data.update(
        status="infeasible",
        cost=None,
        slo=[],
        latency=None,
        routing=None,
        pools=[],
        links=[],
        lanes=[],
        goodput=None,
        baselines=[],
        bcr=None,
        bcr_reference=None,
        architecture=None,
        sensitivity=[],
        binding=[],
        handoff=None,
        ttft_distribution=None,
        front=[],
        infeasibility={
            "reason": "prefill alone takes 0.84 s for 13 % of requests (h200, 8 chips)",
            "failures": [
                {"what": "slo.ttft_p90", "best": 1.83, "limit": 0.5, "unit": "s"},
                {"what": "sites.beijing.power", "best": 1.3, "limit": 1.2, "unit": "MW"},
            ],
            "smallest_changes": [
                {"change": "TTFT P90 up to 1.9 s", "path": "slo.ttft_p90", "value": "1.9 s"},
                {
                    "change": "24 more h200 at beijing",
                    "path": "sites.beijing.chips.h200.available",
                    "value": 152,
                },
            ],
        },
    )
    data["certificate"].update(
        lower_bound_usd_per_hour=None,
        gap=None,
        recomputed_usd_per_hour=None,
        recomputed_slo_met=None,
    )
    return data


def no_relay() -> dict[str, Any]:
    """Return the data of a plan that relays nothing."""
    data = example()
    data["architecture"] = "cross_site"
    data["latency"] = latency(1.0, relay=False)
    data["routing"].update(
        threshold=0.0,
        relay_request_fraction=0.0,
        relay_token_fraction=0.0,
        main_decode_token_fraction=1.0,
        rld_chip_fraction=0.0,
    )
    data["pools"] = [item for item in data["pools"] if item["role"] != "relay"]
    data["cost"] = cost(sum(item["usd_per_hour"] for item in data["pools"]), 2.4, 1.27, 0.9)
    proof = {"lower_bound_usd_per_hour": 382.4, "recomputed_usd_per_hour": 382.4}
    data["certificate"].update(proof)
    data["handoff"] = None
    data["ttft_distribution"]["relay"] = None
    return data


def huge() -> dict[str, Any]:
    """Return the data of a plan with numbers far out of the usual, and a limit just missed."""
    data = example()
    data["status"] = "feasible"
    data["cost"] = cost(123_456_789_012.5, 987_654.25, 0.000_012_3, 0.5)
    data["certificate"].update(gap=0.0934, lower_bound_usd_per_hour=1.1e11, solve_time_s=61.25)
    data["slo"][0].update(predicted=10.004, met=False)
    data["pools"][0].update(engines=1_234_567, chips=9_876_536, utilization=0.9996)
    data["pools"][0].update(usd_per_hour=123_456_788_000.0)
    data["links"][0].update(gbps=1.2e6)
    data["routing"].update(relay_request_fraction=0.99996, relay_token_fraction=3e-7)
    data["latency"]["ttft_s"] = times(0.000_04, 10.004, 7_200.5, None)
    data["demand"].update(requests_per_s=1.5e7, output_tokens_per_s=2.7e9)
    return data


LONG_SITE = "cn-northwest-1-availability-zone-b-building-17-hall-3"
EVIL = '=HYPERLINK("http://x","<script>alert(1)</script>")'


def hostile() -> dict[str, Any]:
    """Return the data of a plan with long, foreign and formula-like names, and priced in CNY."""
    data = example()
    data["currency"] = "CNY"
    data["scenario"]["name"] = "智能体机群 <b>|*_`🚀 \x1b[31m\u202e"
    for item in data["pools"]:
        item["site"] = {"beijing": LONG_SITE, "shanghai": "上海数据中心"}[item["site"]]
    data["pools"][0]["chip"] = EVIL
    data["pools"][2]["chip"] = "+1+cmd|' /C calc'!A0"
    for item in (*data["links"], *data["lanes"]):
        item["from"], item["to"] = LONG_SITE, "@上海数据中心"
    data["warnings"] = ["-2+3 is | no <number>", "two\nlines\tand a tab"]
    data["assumptions"][0].update(path="\tlinks", value=-0.25, source="@SUM(1;2)\r\n&c")
    data["assumptions"][2].update(value="-1e3")
    return data


def many_sites() -> dict[str, Any]:
    """Return the data of a plan over several lanes with thresholds of their own."""
    data = example()
    data["pools"] += [
        pool("guiyang", "decode", "ascend-910c", 5, 0.7, "memory", 2.1),
        pool("hohhot", "prefill", "h200", 3, 0.75, "compute", 3.6),
    ]
    data["links"] += [
        {"from": "hohhot", "to": "guiyang", "gbps": 10.0, "utilization": 0.5, "usd_per_hour": 9.0}
    ]
    data["lanes"] = [
        {"from": "beijing", "to": "shanghai", "share": 0.6},
        {"from": "hohhot", "to": "guiyang", "share": 0.4, "threshold": 0.5},
    ]
    chips = sum(item["usd_per_hour"] for item in data["pools"])
    data["cost"] = cost(chips, 11.4, 1.6, 0.9)
    return data


EXAMPLES = {
    "example": example,
    "infeasible": infeasible,
    "no_relay": no_relay,
    "huge": huge,
    "hostile": hostile,
    "many_sites": many_sites,
}


def plan(name: str = "example", **changes: Any) -> Plan:
    """Return an example plan with some of its top keys changed."""
    return Plan.model_validate_json(json.dumps({**EXAMPLES[name](), **changes}))
