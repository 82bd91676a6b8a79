"""A valid scenario in blocks, which the tests change."""

from __future__ import annotations

HEAD = """\
schema_version: 1
name: agent-fleet
model: deepseek-v3
precision: {weights: fp8, kv_cache: bf16}
"""
MIXTURE = """\
workload:
  rate: 12 req/s
  mixture:
    input_tokens: {distribution: lognormal, median: 20k tokens, sigma: 1.0, max: 128k tokens}
    hit_rate: {distribution: skew, share: 75 %, at_least: 95 %, mean: 90 %}
    output_tokens: 500
"""
CLASSES = """\
workload:
  rate: 12 req/s
  classes:
    - name: long
      share: 60 %
      input_tokens: 64Ki tokens
      cached_tokens: 60k tokens
      output_tokens: 400
    - name: short
      share: 40 %
      input_tokens: 2000
      output_tokens: 100
"""
TRACE = """\
workload:
  trace:
    path: requests.csv
    format: csv
"""
SLO = """\
slo:
  ttft_p90: 10 s
  tpot_p90: 60 ms
"""
SITES = """\
sites:
  beijing:
    roles: [prefill, relay]
    chips:
      h200: {available: 128, price: 3.8 USD/h}
  shanghai:
    roles: [decode]
    chips:
      h20:
        available: 256
        price: 1.9 USD/h
"""
LINKS = """\
links:
  - from: beijing
    to: shanghai
    bandwidth: {min: 10 Gbps, max: 100 Gbps, step: 10 Gbps}
    price: 800 USD/Gbps/month
    rtt: 28 ms
"""
ENGINES = """\
engines:
  - chip: h200
    chips: 8
    data_parallel: 8
  - chip: h20
    chips: 8
    prefill_table: {tokens: [1000, 8000], time: [0.44 s, 0.72 s]}
    decode_table:
      batch: [1, 32]
      context: [1k, 64k]
      time: [[20 ms, 22 ms], [30 ms, 45 ms]]
"""


def scenario_text(workload: str = MIXTURE, tail: str = "", links: str = LINKS) -> str:
    """Return a valid scenario."""
    return HEAD + workload + SLO + SITES + links + tail
