"""Scenarios for tests of whole plans: one agent fleet with knobs, and random ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from pdd_plan.scenario import Scenario, scenario_from_data


def agent_fleet(**changes: Any) -> dict[str, Any]:
    """Data of a scenario in which prefill, relay, line and remote decode all have their use.

    Parameters
    ----------
    **changes
        Replace parts: ``rate``, ``median_tokens``, ``hit_rate``, ``ttft_p90``, ``gbps``,
        ``line_price``, ``decode_price``, ``home_decode``, ``stock``.
    """
    knobs: dict[str, Any] = {
        "rate": "6 req/s",
        "median_tokens": 24000,
        "hit_rate": {"distribution": "skew", "share": 0.8, "at_least": 0.95, "mean": 0.93},
        "ttft_p90": "1.3 s",
        "gbps": {"min": "5 Gbps", "max": "100 Gbps", "step": "5 Gbps"},
        "line_price": "800 USD/Gbps/month",
        "decode_price": "1.06 USD/h",
        "home_decode": True,
        "stock": 512,
    }
    unknown = set(changes) - set(knobs)
    assert not unknown, unknown
    knobs |= changes
    roles = ["prefill", "relay", "decode"] if knobs["home_decode"] else ["prefill", "relay"]
    median = knobs["median_tokens"]
    return {
        "schema_version": 1,
        "name": "agent-fleet",
        "model": "minimax-m2",
        "precision": {"weights": "fp8", "kv_cache": "bf16"},
        "workload": {
            "rate": knobs["rate"],
            "max_atoms": 200,
            "mixture": {
                "input_tokens": {
                    "distribution": "lognormal",
                    "median": median,
                    "sigma": 0.6,
                    "min": 1000,
                    "max": 5 * median,
                },
                "hit_rate": knobs["hit_rate"],
                "output_tokens": {
                    "distribution": "lognormal",
                    "median": 800,
                    "sigma": 0.7,
                    "min": 16,
                    "max": 6000,
                },
            },
        },
        "slo": {"ttft_p90": knobs["ttft_p90"], "tpot_mean": "50 ms"},
        "sites": {
            "home": {
                "roles": roles,
                "chips": {"h200": {"available": knobs["stock"], "price": "4.88 USD/h"}},
            },
            "away": {
                "roles": ["decode"],
                "chips": {"h20": {"available": knobs["stock"], "price": knobs["decode_price"]}},
            },
        },
        "links": [
            {
                "from": "home",
                "to": "away",
                "bandwidth": knobs["gbps"],
                "price": knobs["line_price"],
                "rtt": "28.6 ms",
            }
        ],
        "routing": {"max_thresholds": 9},
    }


def agent_scenario(**changes: Any) -> Scenario:
    """The scenario of :func:`agent_fleet`."""
    return scenario_from_data(agent_fleet(**changes))


def random_scenario(seed: int) -> Scenario:
    """A scenario with one prefill site, one or two decode sites, and random numbers."""
    rng = np.random.default_rng(seed)
    data = agent_fleet(
        rate=f"{rng.uniform(0.5, 8):.2f} req/s",
        median_tokens=int(rng.integers(4, 30)) * 1000,
        ttft_p90=f"{rng.uniform(1.0, 8.0):.2f} s",
        line_price=f"{rng.uniform(50, 3000):.0f} USD/Gbps/month",
        decode_price=f"{rng.uniform(0.5, 5.0):.2f} USD/h",
        home_decode=bool(rng.integers(2)),
        stock=int(rng.integers(4, 40)) * 8,
    )
    data["workload"]["max_atoms"] = 80
    data["model"] = str(rng.choice(["minimax-m2", "llama-3.1-70b", "qwen3-235b-a22b"]))
    if rng.integers(2):
        data["sites"]["away"]["chips"]["h100"] = {
            "available": int(rng.integers(1, 20)) * 8,
            "price": f"{rng.uniform(1.5, 4):.2f} USD/h",
        }
    if rng.integers(2):
        data["sites"]["far"] = {
            "roles": ["decode"],
            "chips": {"l40s": {"available": 256, "price": "0.9 USD/h"}},
        }
        data["links"].append(
            {"from": "home", "to": "far", "bandwidth": "20 Gbps", "owned": True, "rtt": "60 ms"}
        )
    return scenario_from_data(data)


def twin_cities(**changes: Any) -> dict[str, Any]:
    """Data of a small scenario with two sites that both prefill and decode, and lines both ways.

    Parameters
    ----------
    **changes
        Top-level keys to replace or add, such as ``tolerate``.
    """
    line = {"bandwidth": {"min": "10 Gbps", "max": "40 Gbps", "step": "10 Gbps"}}
    line |= {"price": "100 USD/Gbps/month", "rtt": "10 ms"}
    tokens = {"input_tokens": "16k tokens", "output_tokens": "200 tokens"}
    return {
        "schema_version": 1,
        "name": "twin-cities",
        "model": "llama-3.1-8b",
        "precision": {"weights": "fp8", "kv_cache": "bf16"},
        "workload": {
            "rate": "8 req/s",
            "classes": [
                {"name": "hit", "share": "75 %", "cached_tokens": "15.5k tokens", **tokens},
                {"name": "miss", "share": "25 %", "cached_tokens": "4k tokens", **tokens},
            ],
        },
        "slo": {"ttft_p90": "2 s", "tpot_mean": "50 ms"},
        "sites": {
            "north": {
                "roles": ["prefill", "relay", "decode"],
                "chips": {"h100": {"available": 12, "price": "3 USD/h"}},
            },
            "south": {
                "roles": ["prefill", "relay", "decode"],
                "chips": {
                    "h100": {"available": 8, "price": "3.3 USD/h"},
                    "h20": {"available": 12, "price": "1 USD/h"},
                },
            },
        },
        "links": [
            {"from": "north", "to": "south", **line},
            {"from": "south", "to": "north", **line},
        ],
        "engines": [{"chip": "h100", "chips": 1}, {"chip": "h20", "chips": 1}],
        **changes,
    }


def hub_and_spokes(**changes: Any) -> dict[str, Any]:
    """Data of a small scenario with one site that prefills and relays, and two that decode."""
    data = twin_cities(**changes)
    h20 = {"h20": {"available": 16, "price": "1 USD/h"}}
    line = {key: value for key, value in data["links"][0].items() if key not in ("from", "to")}
    line["price"] = "900 USD/Gbps/month"
    line["bandwidth"] = {"min": "2 Gbps", "max": "40 Gbps", "step": "2 Gbps"}
    data["name"] = "hub-and-spokes"
    data["sites"] = {
        "hub": {
            "roles": ["prefill", "relay"],
            "chips": {"h100": {"available": 16, "price": "3 USD/h"}},
        },
        "east": {"roles": ["decode"], "chips": h20},
        "west": {"roles": ["decode"], "chips": h20},
    }
    data["links"] = [{"from": "hub", "to": site, **line} for site in ("east", "west")]
    return data
