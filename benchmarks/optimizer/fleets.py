"""Random fleets as scenarios: agent traffic over sites with chips of several kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pdd_plan.fleet.build import build_problem
from pdd_plan.fleet.stability import stable_rate_per_s
from pdd_plan.scenario import Scenario
from pdd_plan.scenario.loader import scenario_from_data

USE = (0.35, 0.55)
"""Demand as a share of what the whole stock could carry at full utilization."""


@dataclass(frozen=True)
class Size:
    """Dimensions of a random fleet.

    Attributes
    ----------
    prefill_sites, decode_sites : int
        Every pair of them has a line.
    chips : int
        Kinds of chips at every site.
    thresholds : int
        Candidate thresholds.
    atoms : int
        Weighted request types.
    load_steps : int
        Steps in which the demand is shared over lanes.
    """

    prefill_sites: int
    decode_sites: int
    chips: int
    thresholds: int
    atoms: int = 200
    load_steps: int = 10

    @property
    def label(self) -> str:
        """Sites, chips and thresholds for a table."""
        sizes = (self.prefill_sites, self.decode_sites, self.chips, self.thresholds)
        return " \u00d7 ".join(str(one) for one in sizes)


def random_fleet(seed: int, size: Size) -> Scenario:
    """Draw a scenario.

    Parameters
    ----------
    seed : int
        Same seed and size, same scenario.
    size : Size

    Returns
    -------
    Scenario
        DeepSeek-V3 in FP8 on engines of 8 chips, each chip type 0.7-1.4 times as fast as an H200
        and priced about as it performs. Stock is scarce: the demand is 35-55 % of what all sites
        together could do without any limit on times.
    """
    rng = np.random.default_rng(seed)
    data = _data(rng, size)
    use = float(rng.uniform(*USE))
    rate = use * stable_rate_per_s(build_problem(scenario_from_data(data)).problem)
    return scenario_from_data(data, [f"workload.rate={rate:.4g} req/s"])


def _data(rng: np.random.Generator, size: Size) -> dict[str, Any]:
    sites = {
        f"{role}-{number}": {
            "roles": ["prefill", "relay"] if role == "prefill" else ["decode"],
            "chips": {f"{role}-{kind}": _chip(rng, role) for kind in range(size.chips)},
        }
        for role, count in (("prefill", size.prefill_sites), ("decode", size.decode_sites))
        for number in range(count)
    }
    shapes = [f"{role}-{kind}" for role in ("prefill", "decode") for kind in range(size.chips)]
    return {
        "schema_version": 1,
        "name": "random fleet",
        "model": "deepseek-v3",
        "precision": {"weights": "fp8", "kv_cache": "bf16"},
        "workload": {"rate": 1.0, "max_atoms": size.atoms, "mixture": _mixture(rng)},
        "slo": {
            "ttft_p90": f"{rng.uniform(4.0, 9.0):.3f} s",
            "tpot_mean": f"{rng.uniform(35.0, 60.0):.2f} ms",
        },
        "sites": sites,
        "links": [
            _link(rng, f"prefill-{i}", f"decode-{j}")
            for i in range(size.prefill_sites)
            for j in range(size.decode_sites)
        ],
        "engines": [{"chip": chip, "chips": 8} for chip in shapes],
        "routing": {"max_thresholds": size.thresholds},
        "optimizer": {"load_steps": size.load_steps},
    }


def _chip(rng: np.random.Generator, role: str) -> dict[str, Any]:
    """A chip type: main decode is on chips that cost half as much and prefill a third as fast."""
    speed = float(rng.uniform(0.7, 1.4))
    usd = float(rng.uniform(2.0, 4.0)) * speed**0.8
    decodes = role == "decode"
    return {
        "available": 8 * int(rng.integers(3, 9)),
        "price": f"{usd * (0.5 if decodes else 1.0):.3f} USD/h",
        "relative_to": "h200",
        "prefill": round(speed * (0.33 if decodes else 1.0), 3),
        "decode": round(float(rng.uniform(0.8, 1.3)), 3),
    }


def _mixture(rng: np.random.Generator) -> dict[str, Any]:
    """Agent traffic: most requests extend a cached prefix, some arrive cold."""
    warm = float(rng.uniform(0.70, 0.85))
    tokens = {"distribution": "lognormal", "median": 24_000, "sigma": 0.9, "min": 500}
    return {
        "input_tokens": {**tokens, "max": 160_000},
        "hit_rate": {
            "distribution": "skew",
            "share": warm,
            "at_least": 0.93,
            "mean": warm * 0.965 + (1.0 - warm) * float(rng.uniform(0.35, 0.6)),
        },
        "output_tokens": {
            "distribution": "lognormal",
            "median": 300,
            "sigma": 0.8,
            "min": 8,
            "max": 4_000,
        },
    }


def _link(rng: np.random.Generator, source: str, target: str) -> dict[str, Any]:
    return {
        "from": source,
        "to": target,
        "bandwidth": {"min": "10 Gbps", "max": "160 Gbps", "step": "10 Gbps"},
        "price": f"{rng.uniform(640.0, 1000.0):.0f} USD/Gbps/month",
        "rtt": f"{rng.uniform(4.0, 50.0):.1f} ms",
        "overhead": f"{rng.uniform(0.0, 20.0):.1f} ms",
    }
