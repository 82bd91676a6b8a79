"""The questions that are put to every contender."""

from __future__ import annotations

from typing import Any

from pdd_plan.scenario import Scenario, load_scenario, scenario_from_data

INPUT_TOKENS, OUTPUT_TOKENS = 4000, 500
TTFT_S, TPOT_S = 2.0, 0.05
CHIPS = 32


def one_site() -> Scenario:
    """DeepSeek-V3 on 32 H200 at one site: most requests per second within mean TTFT and TPOT."""
    data: dict[str, Any] = {
        "schema_version": 1,
        "name": "deepseek-v3-on-32-h200",
        "model": "deepseek-v3",
        "precision": {"weights": "fp8", "kv_cache": "bf16"},
        "workload": {
            "classes": [{"share": 1, "input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS}]
        },
        "slo": {"ttft_mean": f"{TTFT_S} s", "tpot_mean": f"{TPOT_S} s"},
        "sites": {
            "one": {
                "roles": ["prefill", "decode"],
                # The price decides nothing where throughput is asked for; the scenario wants one.
                "chips": {"h200": {"available": CHIPS, "price": "1 USD/h"}},
            }
        },
        "serving": {"framework": "trtllm"},
        "objective": "goodput",
    }
    return scenario_from_data(data)


def two_sites(atoms: int | None = None) -> Scenario:
    """The quickstart: prefill and relay in one city, decode in the other, a line to be bought."""
    return load_scenario("quickstart", () if atoms is None else [f"workload.max_atoms={atoms}"])
