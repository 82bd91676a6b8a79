"""Scenarios that route by size, the published one and random small ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pdd_plan.fleet.build import build_problem
from pdd_plan.fleet.problem import Problem
from pdd_plan.fleet.size_routing import SizeFleet
from pdd_plan.scenario import Scenario, load_scenario, scenario_from_data

PUBLISHED = "prefill-as-a-service"


def published(*changes: str) -> Scenario:
    """The scenario of the published case study."""
    return load_scenario(PUBLISHED, changes)


def published_fleet(*changes: str) -> SizeFleet:
    """Its problem."""
    return SizeFleet(build_problem(published(*changes)).problem)


def small_data(seed: int, limits: dict[str, str] | None = None) -> dict[str, Any]:
    """Data of a small random scenario: few sizes, few chips, measured tables, priced lines."""
    rng = np.random.default_rng(seed)
    sizes = np.sort(rng.choice(np.arange(1, 60), size=int(rng.integers(3, 6)), replace=False))
    shares = rng.dirichlet(np.full(sizes.size, 2.0)).round(3)
    shares[-1] = 1.0 - shares[:-1].sum()
    slow, fast = rng.uniform(0.06, 0.14), rng.uniform(0.02, 0.05)
    tokens = [500, 8000, 30000, 64000]
    table = [0.1 + slow * t / 1000 + 3e-4 * (t / 1000) ** 2 for t in tokens]
    quick = [0.1 + fast * t / 1000 + 1e-4 * (t / 1000) ** 2 for t in tokens]
    step = float(rng.uniform(0.02, 0.05))
    return {
        "schema_version": 1,
        "name": f"sizes-{seed}",
        "model": {
            "params": "70 B",
            "active_params": "70 B",
            "layers": 80,
            "hidden_size": 8192,
            "attention_flop": 32768,
            "kv_heads": 8,
            "kv_table": {"tokens": [1000, 60000], "size": ["80 MiB", "900 MiB"]},
        },
        "precision": {"weights": "fp8", "kv_cache": "fp8"},
        "workload": {
            "rate": f"{rng.uniform(0.3, 1.5):.3f} req/s",
            "classes": [
                {
                    "share": float(share),
                    "input_tokens": int(size) * 1000,
                    "cached_tokens": int(size) * int(rng.integers(0, 400)),
                    "output_tokens": int(rng.integers(50, 600)),
                }
                for size, share in zip(sizes, shares, strict=True)
            ],
        },
        "slo": limits or {},
        "sites": {
            "far": {
                "roles": ["prefill"],
                "chips": {"h200": {"available": int(rng.integers(1, 5)) * 2, "price": "4 USD/h"}},
            },
            "home": {
                "roles": ["prefill", "decode"],
                "chips": {"h20": {"available": int(rng.integers(3, 9)) * 4, "price": "1.5 USD/h"}},
            },
        },
        "links": [
            {
                "from": "far",
                "to": "home",
                "bandwidth": {"min": "2 Gbps", "max": "8 Gbps", "step": "3 Gbps"},
                "price": f"{rng.uniform(50, 800):.0f} USD/Gbps/month",
                "rtt": "20 ms",
            }
        ],
        "engines": [
            {
                "chip": "h200",
                "chips": 2,
                "roles": ["prefill"],
                "prefill_table": {"tokens": tokens, "time": quick},
                "kv_memory": "100 GiB",
            },
            {
                "chip": "h20",
                "chips": 4,
                "roles": ["prefill", "decode"],
                "prefill_table": {"tokens": tokens, "time": table},
                "decode_table": {
                    "batch": [1, 16],
                    "context": [20000],
                    "time": [[step], [1.5 * step]],
                },
                "max_batch": 16,
                "kv_memory": "100 GiB",
            },
        ],
        "routing": {"between": "prefill", "by": "uncached_tokens", "max_thresholds": 20},
        "objective": "goodput",
    }


def small_problem(seed: int, limits: dict[str, str] | None = None) -> Problem:
    """The problem of a small random scenario."""
    problem = build_problem(scenario_from_data(small_data(seed, limits))).problem
    return replace(problem, slot_waits=(0.01,))
