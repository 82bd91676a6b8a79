"""Changes that make a valid scenario wrong, and the texts that are changed."""

from __future__ import annotations

from dataclasses import dataclass

from scenario_texts import CLASSES, ENGINES, TRACE, scenario_text

MODEL_NUMBERS = """model:
  params: 70 B
  active_params: 70 B
  layers: 80
  hidden_size: 8192
  kv_bytes_per_token: 320 KiB/token
  attention_flop: 32768
  kv_heads: 8
"""


@dataclass(frozen=True)
class Wrong:
    """A change to a valid scenario, and what must be said about it.

    `at` is text on the line that must be named, `path` the path; `message` and `help` must occur.
    """

    name: str
    old: str
    new: str
    at: str
    path: str
    message: str
    help: str
    text: str = scenario_text()


CSV = scenario_text(TRACE)
MANY = scenario_text(CLASSES)
SHAPES = scenario_text(tail=ENGINES)
SIZES = (
    scenario_text()
    .replace("roles: [decode]", "roles: [prefill, decode]")
    .replace("roles: [prefill, relay]", "roles: [prefill]")
    .replace("links:\n", "routing: {between: prefill, by: uncached_tokens}\nlinks:\n")
)
NUMBERS = scenario_text().replace("model: deepseek-v3\n", MODEL_NUMBERS)
PERIODS = "slo:\n  scope: every_period\n"
TWO_PARTS = """\
  mixture:
    - {share: 60 %, input_tokens: 1k, hit_rate: 0, output_tokens: 1}
    - {share: 30 %, input_tokens: 2k, hit_rate: 0, output_tokens: 1}
"""
MIXTURE_BODY = scenario_text()[scenario_text().index("  mixture:") : scenario_text().index("slo:")]
LINE = scenario_text()[scenario_text().index("  - from") :]

NAMED_LINE = LINE.replace("  - from: beijing", "  - name: a\n    from: beijing")
RTT = "rtt: {beijing: 10 ms, shanghai: 32 ms}"
