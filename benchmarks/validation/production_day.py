"""DeepSeek's production day of 2025-02-27/28, planned from its measured rates.

deepseek-ai/open-infra-index, 202502OpenSourceWeek, day 6 (2025-03-01): 608B input and 168B output
tokens in 24 h, 73.7k input and 14.8k output tokens/s per H800 node of 8, nodes occupied 226.75 on
average, $87,072 a day at $2 per GPU-hour. Prompt and output lengths of a request are not
published; a mean prompt of 4,000 tokens is chosen, and the tokens of the day fix the rest. A
twentieth of the traffic is planned, to be quick: mean use is linear in it.
"""

from __future__ import annotations

from benchmarks.validation.document import Claim, signed
from pdd_plan.fleet.plan import Plan
from pdd_plan.scenario import scenario_from_data
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import plan_scenario

DAY_S = 86_400.0
INPUT_TOKENS, OUTPUT_TOKENS = 608e9, 168e9
PREFILL_TOKENS_PER_S, DECODE_TOKENS_PER_S = 73_700.0, 14_800.0
NODES, USD = 226.75, 87_072.0
PART = 20
PROMPT = 4000
USER_TOKENS_PER_S = 21.0  # published range 20 to 22


def plan_of_the_day() -> Plan:
    """Plan a twentieth of the day's traffic on nodes of the published speeds."""
    rate = INPUT_TOKENS / DAY_S / PROMPT / PART
    batch = DECODE_TOKENS_PER_S / USER_TOKENS_PER_S
    request = {
        "share": 1.0,
        "input_tokens": PROMPT,
        "output_tokens": OUTPUT_TOKENS / INPUT_TOKENS * PROMPT,
    }
    engine = {
        "chip": "h800",
        "chips": 8,
        "data_parallel": 8,
        "prefill_table": {"tokens": [PROMPT], "time": [8 * PROMPT / PREFILL_TOKENS_PER_S]},
        "decode_table": {
            "batch": [1, round(batch)],
            "context": [4989],
            "time": [[1 / USER_TOKENS_PER_S], [round(batch) / DECODE_TOKENS_PER_S]],
        },
        "max_batch": round(batch),
        "kv_memory": "4000 GiB",
    }
    site = {
        "roles": ["prefill", "decode"],
        "chips": {"h800": {"available": 8 * 20, "price": "2 USD/h"}},
        "rdma": {"bandwidth": "3200 Gbps"},
    }
    data = {
        "schema_version": 1,
        "name": "production-day",
        "model": "deepseek-v3",
        "precision": {"weights": "fp8", "kv_cache": "bf16"},
        "workload": {"rate": rate, "classes": [request]},
        "slo": {},
        "sites": {"home": site},
        "engines": [engine],
    }
    return plan_scenario(scenario_from_data(data), PlanOptions(20.0))


def busy_nodes(plan: Plan) -> dict[str, float]:
    """Nodes that the whole day keeps busy on average, by role."""
    return {pool.role: PART * pool.engines * pool.utilization for pool in plan.pools}


def busy_usd(plan: Plan) -> float:
    """Price of the busy nodes of the whole day [USD]."""
    return sum(pool.usd_per_hour * pool.utilization for pool in plan.pools) * 24 * PART


def claims() -> list[Claim]:
    """Return nodes and cost beside the published ones."""
    plan = plan_of_the_day()
    nodes, usd = sum(busy_nodes(plan).values()), busy_usd(plan)
    given = "nothing (speeds of a node are inputs; prompts of 4,000 tokens chosen, without effect)"
    return [
        Claim(
            "DeepSeek's day: nodes busy on average",
            f"{NODES:g}",
            f"{nodes:.2f}",
            signed(nodes / NODES - 1.0),
            given,
        ),
        Claim(
            "DeepSeek's day: cost at $2 per GPU-hour",
            f"${USD:,.0f}",
            f"${usd:,.0f}",
            signed(usd / USD - 1.0),
            given,
        ),
    ]
