"""Every way to get a scenario wrong: the right place, the value, and a mend."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from scenario_texts import CLASSES, ENGINES, TRACE, scenario_text

from pdd_plan.errors import InputError, Issue
from pdd_plan.scenario import load_scenario

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

CASES = [
    # Keys
    Wrong("unknown top key", "slo:", "sla:\n  x: 1\nslo:", "sla:", "sla", "sla", "slo"),
    Wrong("unknown precision key", "kv_cache", "kv_cash", "kv_cash", "precision.kv_cash",
          "kv_cash", "kv_cache"),
    Wrong("unknown workload key", "rate: 12", "rat: 1\n  rate: 12", "rat: 1", "workload.rat",
          "rat", "rate is there already"),
    Wrong("unknown mixture key", "output_tokens: 500", "output_tokens: 500\n    share_of: 1",
          "share_of", "workload.mixture.share_of", "share_of", "share"),
    Wrong("unknown distribution key", "sigma: 1.0,", "sigma: 1.0, mu: 9,", "mu: 9",
          "workload.mixture.input_tokens.mu", "mu", "median"),
    Wrong("unknown slo key", "tpot_p90", "tpot_p91", "tpot_p91", "slo.tpot_p91", "tpot_p91",
          "tpot_p9"),
    Wrong("unknown site key", "    roles: [decode]", "    role: x\n    roles: [decode]", "role: x",
          "sites.shanghai.role", "role", "roles is there already"),
    Wrong("unknown chip key", "available: 256", "available: 256\n        prise: 1", "prise",
          "sites.shanghai.chips.h20.prise", "prise", "price is there already"),
    Wrong("unknown link key", "rtt: 28 ms", "rtt: 28 ms\n    latency: 1 ms", "latency",
          "links.0.latency", "latency", "rtt"),
    Wrong("unknown bandwidth key", "step: 10 Gbps", "step: 10 Gbps, stop: 3", "stop",
          "links.0.bandwidth.stop", "stop", "step is there already"),
    Wrong("unknown serving key", "links:", "serving: {handof: auto}\nlinks:", "handof",
          "serving.handof", "handof", "handoff"),
    Wrong("unknown engine key", "data_parallel: 8", "data_paralel: 8", "data_paralel",
          "engines.0.data_paralel", "data_paralel", "data_parallel", SHAPES),
    # Missing
    Wrong("no version", "schema_version: 1\n", "", "name: agent", "schema_version",
          "schema_version is missing", "schema_version: 1"),
    Wrong("no model", "model: deepseek-v3\n", "", "schema_version", "model", "model is missing",
          "model: deepseek-v3"),
    Wrong("no weights", "weights: fp8, ", "", "precision:", "precision.weights",
          "precision.weights is missing", "weights: fp8"),
    Wrong("no rate", "  rate: 12 req/s\n", "", "workload:", "workload.rate",
          "workload.rate is missing", "12 req/s"),
    Wrong("no roles", "    roles: [decode]\n", "", "shanghai:", "sites.shanghai.roles",
          "roles is missing", "roles: [prefill, relay]"),
    Wrong("no stock", "        available: 256\n", "", "h20:",
          "sites.shanghai.chips.h20.available", "available is missing", "available: 128"),
    Wrong("no chip price", ", price: 3.8 USD/h", "", "h200:", "sites.beijing.chips.h200.price",
          "price is missing", "never assumed. Known quotes: "),
    Wrong("no price, no quote", "h200: {available: 128, price: 3.8 USD/h}",
          "ascend-910b: {available: 128}", "ascend-910b:", "sites.beijing.chips.ascend-910b.price",
          "price is missing", "no quote for ascend-910b"),
    Wrong("no line price", "    price: 800 USD/Gbps/month\n", "", "- from", "links.0",
          "price is missing", "owned: true"),
    Wrong("no round trip", "    rtt: 28 ms\n", "", "- from", "links.0.rtt", "rtt is missing",
          "rtt: 28 ms"),
    Wrong("no trace format", "    format: csv\n", "", "trace:", "workload.trace.format",
          "format is missing", "format: csv", CSV),
    Wrong("no distribution", "distribution: skew, ", "", "hit_rate:", "workload.mixture.hit_rate",
          "distribution", "skew"),
    Wrong("no content", "roles: [decode]", "roles:", "roles:\n", "sites.shanghai.roles",
          "sites.shanghai.roles is empty", "roles: [prefill, relay]"),
    # Types
    Wrong("text for whole number", "available: 256", "available: many", "many",
          "sites.shanghai.chips.h20.available", '"many" is not a whole number', "128"),
    Wrong("fraction of a chip", "available: 256", "available: 25.5", "25.5",
          "sites.shanghai.chips.h20.available", "25.5 is not a whole number", "write 26"),
    Wrong("quoted whole number", "available: 256", 'available: "256"', '"256"',
          "sites.shanghai.chips.h20.available", "256 is text, not a whole number",
          "write 256 without quotes"),
    Wrong("number for text", "from: beijing", "from: 7", "from: 7", "links.0.from",
          "7 is not text", '"7"'),
    Wrong("text for list", "roles: [decode]", "roles: decode", "roles: decode",
          "sites.shanghai.roles", '"decode" is not a list', "[prefill, relay]"),
    Wrong("list for mapping", "slo:\n  ttft_p90: 10 s\n  tpot_p90: 60 ms", "slo: [10 s]", "slo:",
          "slo", "a list is not a mapping", "ttft_p90"),
    Wrong("mapping for list", LINE, "  {from: beijing, to: shanghai}\n", "links:", "links",
          "a mapping is not a list", "lines that begin with -"),
    Wrong("yes for true", "rtt: 28 ms", "rtt: 28 ms\n    owned: yes", "owned", "links.0.owned",
          '"yes" is not true or false', "write true"),
    Wrong("true for quantity", "rtt: 28 ms", "rtt: true", "rtt:", "links.0.rtt",
          "true is not a time", "ms"),
    Wrong("list for quantity", "rtt: 28 ms", "rtt: [28 ms]", "rtt:", "links.0.rtt",
          "a list is not a time", "ms"),
    Wrong("empty quantity", "rtt: 28 ms", "rtt:", "rtt:", "links.0.rtt",
          "rtt is empty; a time is wanted", "10 ms"),
    Wrong("unknown word", "weights: fp8", "weights: fp9", "fp9", "precision.weights", '"fp9"',
          "fp8"),
    Wrong("unknown role", "roles: [decode]", "roles: [decod]", "decod]",
          "sites.shanghai.roles.0", '"decod"', "decode"),
    Wrong("true as version", "schema_version: 1", "schema_version: true", "schema_version",
          "schema_version", "true is not a whole number", "schema_version: 1"),
    Wrong("role twice", "[prefill, relay]", "[prefill, relay, prefill]", "relay, prefill",
          "sites.beijing.roles.2", '"prefill" is there twice', "once"),
    Wrong("unknown objective", "links:", "objective: cost\nlinks:", "objective", "objective",
          '"cost"', "cost_per_token"),
    Wrong("unknown distribution", "distribution: lognormal", "distribution: normal", "normal,",
          "workload.mixture.input_tokens.distribution", '"normal"', "lognormal"),
    Wrong("engines by word", "links:", "engines: manual\nlinks:", "manual", "engines",
          '"manual" is not auto', "engines: auto"),
    # Units
    Wrong("time for bandwidth", "{min: 10 Gbps, max: 100 Gbps, step: 10 Gbps}", "28 ms", "28 ms",
          "links.0.bandwidth", "28 ms is a time (unit ms), not a bandwidth (unit Gbps)", "Gbps"),
    Wrong("bandwidth for time", "ttft_p90: 10 s", "ttft_p90: 10 Gbps", "10 Gbps\n", "slo.ttft_p90",
          "10 Gbps is a bandwidth (unit Gbps), not a time (unit s)", "10 s"),
    Wrong("price per month of a chip in bytes", "1.9 USD/h", "1.9 USD/Gbps/month",
          "1.9 USD/Gbps", "sites.shanghai.chips.h20.price", "a price of bandwidth", "USD/h"),
    Wrong("unknown unit", "28 ms", "28 mss", "28 mss", "links.0.rtt", 'unknown unit "mss"',
          "28 ms"),
    Wrong("wrong case", "min: 10 Gbps", "min: 10 gbps", "10 gbps", "links.0.bandwidth.min",
          'unknown unit "gbps"', "10 Gbps"),
    Wrong("text without unit", "28 ms", '"28"', '"28"', "links.0.rtt", "28 is text without a unit",
          "28 ms"),
    Wrong("capital K", "20k tokens", "20K tokens", "20K", "workload.mixture.input_tokens.median",
          "20K tokens is ambiguous", "20Ki tokens"),
    Wrong("comma in number", "28 ms", "1,028 ms", "1,028", "links.0.rtt", "separator", "ms"),
    Wrong("octal number", "28 ms", "028", "028", "links.0.rtt", "028 is text without a unit",
          '"28 ms"'),
    Wrong("other currency", "1.9 USD/h", "1.9 CNY/h", "CNY", "sites.shanghai.chips.h20.price",
          "1.9 CNY/h is in CNY", "currency: CNY"),
    Wrong("currency name", "links:", "currency: dollar\nlinks:", "dollar", "currency",
          '"dollar"', "USD"),
    # Numbers
    Wrong("nan", "28 ms", ".nan", ".nan", "links.0.rtt", "nan is not a finite number", "ms"),
    Wrong("nan text", "28 ms", "nan ms", "nan ms", "links.0.rtt", '"nan ms"', "ms"),
    Wrong("infinite", "10 s", ".inf", ".inf", "slo.ttft_p90", "inf is not a finite number", "10 s"),
    Wrong("overflow", "12 req/s", "1e999 req/s", "1e999", "workload.rate",
          "1e999 req/s is not a finite number", "12 req/s"),
    Wrong("negative rate", "12 req/s", "-12 req/s", "-12", "workload.rate",
          "-12 req/s must be above 0 req/s", "12 req/s"),
    Wrong("zero rate", "12 req/s", "0", "rate: 0", "workload.rate", "0 req/s must be above 0",
          "12 req/s"),
    Wrong("negative price", "1.9 USD/h", "-1.9 USD/h", "-1.9", "sites.shanghai.chips.h20.price",
          "-1.9 USD/h must be at least 0 USD/h", "USD/h"),
    Wrong("negative line price", "800 USD/Gbps/month", "-800 USD/Gbps/month", "-800",
          "links.0.price", "-800 USD/Gbps/month must be at least 0", "USD/Gbps/month"),
    Wrong("negative round trip", "28 ms", "-28 ms", "-28", "links.0.rtt",
          "-28 ms must be at least 0 ms", "ms"),
    Wrong("zero bandwidth", "min: 10 Gbps", "min: 0 Gbps", "min: 0", "links.0.bandwidth.min",
          "0 Gbps must be above 0 Gbps", "Gbps"),
    Wrong("huge", "28 ms", "1e9 s", "1e9 s", "links.0.rtt", "1e9 s must be at most 100,000 ms",
          "ms"),
    Wrong("huge stock", "available: 256", "available: 1000000000000", "1000000000000",
          "sites.shanghai.chips.h20.available", "1000000000000 must be at most 10,000,000",
          "10000000"),
    Wrong("negative stock", "available: 256", "available: -1", "-1",
          "sites.shanghai.chips.h20.available", "-1 must be at least 0", "0"),
    Wrong("zero SLO", "10 s", "0 s", "0 s\n", "slo.ttft_p90", "0 s must be above 0 s", "10 s"),
    Wrong("percent without sign", "share: 75 %", "share: 75", "share: 75",
          "workload.mixture.hit_rate.share", "75 must be below 1", "75 %"),
    Wrong("efficiency above one", "links:\n  - from: beijing",
          "links:\n  - efficiency: 1.2\n    from: beijing", "1.2", "links.0.efficiency",
          "1.2 must be at most 1", "90 %"),
    Wrong("memory share zero", "links:", "serving: {memory_fraction: 0}\nlinks:",
          "memory_fraction", "serving.memory_fraction", "0 must be above 0", "90 %"),
    Wrong("zero speed", "h200: {available: 128,",
          "x1: {relative_to: h100, prefill: 0, decode: 1, available: 128,", "x1",
          "sites.beijing.chips.x1.prefill", "0 must be above 0", "0.81x"),
    Wrong("zero throughput", "[20 ms, 22 ms]", "[20 ms, 0 ms]", "0 ms]",
          "engines.1.decode_table.time.0.1", "0 ms must be above 0 s", "10 s", SHAPES),
    Wrong("negative correlation of one", "output_tokens: 500",
          "output_tokens: 500\n    hit_length_correlation: -1", "correlation",
          "workload.mixture.hit_length_correlation", "-1 must be above -1", "0.81x"),
    Wrong("half a token", "output_tokens: 500", "output_tokens: 0.5", "0.5\n",
          "workload.mixture.output_tokens", "0.5 tokens must be at least 1 tokens", "64k tokens"),
    Wrong("no atoms", "rate: 12", "max_atoms: 0\n  rate: 12", "max_atoms", "workload.max_atoms",
          "0 must be at least 1", "1"),
    # Within a section
    Wrong("two workloads", "  rate: 12 req/s", "  classes: []\n  rate: 12 req/s",
          "classes", "workload.classes", "mixture and classes are given", "keep one"),
    Wrong("no workload kind", MIXTURE_BODY, "", "workload:", "workload", "none is given", "trace"),
    Wrong("class shares", "share: 40 %", "share: 50 %", "classes:", "workload.classes",
          "shares sum to 1.1", "-0.1", MANY),
    Wrong("mixture shares", MIXTURE_BODY, TWO_PARTS, "mixture:", "workload.mixture",
          "shares sum to 0.9", "+0.1"),
    Wrong("prefix longer than prompt", "cached_tokens: 60k tokens", "cached_tokens: 66k tokens",
          "66k", "workload.classes.0.cached_tokens",
          "66000 tokens is longer than the prompt, 65536",
          "at most 65536", MANY),
    Wrong("impossible skew", "mean: 90 %", "mean: 60 %", "mean: 60",
          "workload.mixture.hit_rate.mean", "0.6 is impossible", "set mean to 0.85"),
    Wrong("length range", "min: 10 Gbps", "min: 200 Gbps", "min: 200", "links.0.bandwidth.min",
          "200 Gbps is above max = 100 Gbps", "swap"),
    Wrong("step missing", ", step: 10 Gbps", "", "bandwidth:", "links.0.bandwidth",
          "need a step", "step: 9 Gbps"),
    Wrong("step does not divide", "step: 10 Gbps", "step: 7 Gbps", "step: 7",
          "links.0.bandwidth.step", "7 Gbps does not divide", "use step: 7.5 Gbps"),
    Wrong("too many sizes", "step: 10 Gbps", "step: 1 Mbps", "1 Mbps", "links.0.bandwidth.step",
          "90001 sizes", "use step"),
    Wrong("hit rate range", "{distribution: skew, share: 75 %, at_least: 95 %, mean: 90 %}",
          "{distribution: range, min: 0.9, max: 0.5}", "min: 0.9", "workload.mixture.hit_rate.min",
          "0.9 is above max = 0.5", "swap"),
    Wrong("mean outside", "{distribution: skew, share: 75 %, at_least: 95 %, mean: 90 %}",
          "{distribution: range, min: 0.5, max: 0.8, mean: 0.9}", "mean: 0.9",
          "workload.mixture.hit_rate.mean", "0.9 must lie between", "0.65"),
    Wrong("bins overlap", "{distribution: skew, share: 75 %, at_least: 95 %, mean: 90 %}",
          "{distribution: histogram, bins: [{min: 0, max: 0.6, share: 0.5},"
          " {min: 0.5, max: 1, share: 0.5}]}", "bins", "workload.mixture.hit_rate.bins.1",
          "starts at 0.5", "0.6"),
    Wrong("owned with price", "rtt: 28 ms", "rtt: 28 ms\n    owned: true", "owned", "links.0.owned",
          "no price", "remove"),
    Wrong("line to itself", "to: shanghai", "to: beijing", "to: beijing", "links.0.to",
          "beijing", "rdma"),
    Wrong("speed of nothing", "available: 256", "available: 256\n        decode: 2x", "decode: 2x",
          "sites.shanghai.chips.h20.decode", "2 compares with nothing", "relative_to"),
    Wrong("relative without speed", "h200: {available: 128,",
          "chip-x: {relative_to: h100, prefill: 0.8, available: 128,", "relative_to",
          "sites.beijing.chips.chip-x.relative_to", "needs decode", "decode: 1.0"),
    Wrong("tensor parallel", "data_parallel: 8", "data_parallel: 2\n    tensor_parallel: 8",
          "tensor_parallel", "engines.0.tensor_parallel", "is 16, not chips = 8",
          "tensor_parallel: 4", SHAPES),
    Wrong("data parallel", "data_parallel: 8", "data_parallel: 3", "data_parallel",
          "engines.0.data_parallel", "3 does not divide chips = 8", "data_parallel: 2", SHAPES),
    Wrong("table sizes", "time: [0.44 s, 0.72 s]", "time: [0.44 s]", "time: [0.44",
          "engines.1.prefill_table.time", "has 1 entries, but tokens has 2", "each entry", SHAPES),
    Wrong("table order", "tokens: [1000, 8000]", "tokens: [8000, 1000]", "tokens: [8000",
          "engines.1.prefill_table.tokens.1", "1000 follows 8000", "sort", SHAPES),
    Wrong("table falls", "[20 ms, 22 ms]", "[20 ms, 12 ms]", "12 ms",
          "engines.1.decode_table.time.0", "0.012 s follows 0.02 s", "smooth", SHAPES),
    Wrong("table row", "[20 ms, 22 ms]", "[20 ms]", "[20 ms]",
          "engines.1.decode_table.time.0", "has 1 entries, but context has 2", "each entry",
          SHAPES),
    Wrong("no load", "rate: 12 req/s", "rate: 12 req/s\n  periods: [{hours: 24, multiplier: 0}]",
          "periods", "workload.periods", "every multiplier is 0", "1"),
    # Across sections
    Wrong("unknown model", "deepseek-v3", "deepsek-v3", "deepsek", "model", "deepsek-v3",
          "deepseek-v3"),
    Wrong("missing config", "deepseek-v3", "my/config.json", "my/config", "model", "config.json",
          "scenario's folder"),
    Wrong("active above total", "active_params: 70 B", "active_params: 80 B", "active_params",
          "model.active_params", "8e+10", "numbers", NUMBERS),
    Wrong("model without heads", "  kv_heads: 8\n", "", "model:", "model", "kv_heads", "kv_heads",
          NUMBERS),
    Wrong("unknown chip", "h200:", "h20O:", "h20O", "sites.beijing.chips.h20O", "h20O",
          "did you mean"),
    Wrong("unknown base chip", "h200: {", "x1: {relative_to: h999, prefill: 1, decode: 1, ",
          "h999", "sites.beijing.chips.x1.relative_to", "h999", "h"),
    Wrong("chip relative to itself", "h200: {",
          "x1: {relative_to: x1, prefill: 1, decode: 1, ", "x1",
          "sites.beijing.chips.x1.relative_to", "x1 > x1", "h100"),
    Wrong("missing profile", "available: 256", "available: 256\n        profile: chips/x.yaml",
          "profile", "sites.shanghai.chips.h20.profile", "x.yaml", "scenario's folder"),
    Wrong("line from nowhere", "from: beijing", "from: bejing", "bejing", "links.0.from",
          "bejing is not a site", "beijing"),
    Wrong("site without line", "sites:\n", "sites:\n"
          "  tokyo: {roles: [prefill], chips: {h200: {available: 8, price: 4}}}\n", "tokyo",
          "sites.tokyo", "no line leads from it", "from: tokyo"),
    Wrong("line into a site without decode", "roles: [decode]", "roles: [prefill, decode]",
          "- {from", "links.1.to", "beijing has no role decode", "add decode",
          scenario_text()
          + "  - {from: shanghai, to: beijing, bandwidth: 1, owned: true, rtt: 1}\n"),
    Wrong("line twice", LINE, LINE + LINE, "- from", "links.1", "repeats links.0", "keep one"),
    Wrong("relay without prefill", "roles: [decode]", "roles: [decode, relay]", "relay]\n    chips:"
          "\n      h20:", "sites.shanghai.roles", "relay without prefill", "prefill"),
    Wrong("no prefill site", "roles: [prefill, relay]", "roles: [decode]", "sites:", "sites",
          "no site with the role prefill", "add prefill"),
    Wrong("no decode site", "roles: [decode]", "roles: [prefill]", "sites:", "sites",
          "no site with the role decode", "add decode"),
    Wrong("nothing available", "available: 256", "available: 0", "chips:\n      h20:",
          "sites.shanghai.chips", "0 chips available for decode", "available: 64"),
    Wrong("price of another chip", "links:", "prices: {h100: 2 USD/h}\nlinks:", "prices",
          "prices.h100", "a chip that no site has", "h"),
    Wrong("percentiles cross", "ttft_p90: 10 s", "ttft_p50: 12 s\n  ttft_p90: 10 s", "ttft_p90",
          "slo.ttft_p90", "10 s is below slo.ttft_p50 = 12 s", "12 s or more"),
    Wrong("periods missing", "slo:\n", PERIODS, "scope", "slo.scope", "every_period", "periods"),
    Wrong("trace missing", "requests.csv", "request.csv", "request.csv", "workload.trace.path",
          "request.csv does not exist", "requests.csv", CSV),
    Wrong("trace is a folder", "requests.csv", ".", "path: .", "workload.trace.path",
          "is a folder", "file", CSV),
    Wrong("trace is empty", "requests.csv", "empty.csv", "empty.csv", "workload.trace.path",
          "empty.csv is empty", "content", CSV),
    Wrong("azure without hits", "format: csv", "format: azure", "trace:", "workload.trace.hit_rate",
          "records no prefix", "hit_rate: 50 %", CSV),
    Wrong("hits given twice", "format: csv", "format: mooncake\n    hit_rate: 0.5", "hit_rate",
          "workload.trace.hit_rate", "has its own hits", "remove", CSV),
    Wrong("sessions without rate", "format: csv", "format: claude_code", "workload:",
          "workload.rate", "records no arrival times", "12 req/s", CSV),
    Wrong("threshold outside", "links:", "routing: {threshold: 1.2}\nlinks:", "threshold",
          "routing.threshold", "1.2 must be at most 1", "90 %"),
    Wrong("threshold unit", "links:", "routing: {by: uncached_tokens, threshold: 90 %}\nlinks:",
          "threshold", "routing.threshold", "90 % is a share", "tokens"),
    Wrong("threshold twice", "links:", "routing: {thresholds: [0.5, 0.5]}\nlinks:", "thresholds",
          "routing.thresholds.1", "0.5 is there twice", "once"),
    Wrong("thresholds fixed and free", "links:",
          "routing: {threshold: 0.5, thresholds: [0.5]}\nlinks:", "routing", "routing.threshold",
          "fixes", "keep one"),
    Wrong("sizes by hit rate", "by: uncached_tokens", "by: hit_rate", "by: hit_rate", "routing.by",
          "routed by size", "uncached_tokens", SIZES),
    Wrong("sizes with a relay", "roles: [prefill]", "roles: [prefill, relay]", "roles: [prefill, r",
          "sites.beijing.roles", "has relay", "remove relay", SIZES),
    Wrong("sizes without home prefill", "[prefill, decode]", "[decode]", "roles: [decode]",
          "sites.shanghai.roles", "nothing to choose between", "add prefill", SIZES),
    Wrong("sizes with two homes", "roles: [prefill]", "roles: [prefill, decode]",
          "roles: [prefill, decode]\n    chips:\n      h20:", "sites.shanghai.roles",
          "beijing and shanghai decode", "keep decode at beijing", SIZES),
    Wrong("sizes with two lines", "sites:\n",
          "sites:\n  tokyo: {roles: [prefill], chips: {h200: {available: 8, price: 4}}}\n",
          "- {from: tokyo", "links.1", "2 lines lead to shanghai", "keep one line",
          SIZES + "  - {from: tokyo, to: shanghai, bandwidth: 1, owned: true, rtt: 1}\n"),
    Wrong("sizes with a hand-off limit", "tpot_p90: 60 ms", "handoff_gap_p99: 1 s", "handoff_gap",
          "slo.handoff_gap_p99", "does without", "remove handoff_gap_p99", SIZES),
    Wrong("cache twice", "kv_bytes_per_token: 320 KiB/token",
          "kv_bytes_per_token: 320 KiB/token\n  kv_table: {tokens: [1, 2], size: [1, 2]}",
          "kv_bytes_per_token: 320", "model.kv_bytes_per_token", "beside kv_table", "remove it",
          NUMBERS),
    Wrong("no cache", "  kv_bytes_per_token: 320 KiB/token\n", "", "model:",
          "model.kv_bytes_per_token", "is missing", "68.6 KiB/token", NUMBERS),
    Wrong("cache table falls", "kv_bytes_per_token: 320 KiB/token",
          "kv_table: {tokens: [1, 2], size: [2 MiB, 1 MiB]}", "kv_table", "model.kv_table.size",
          "follows", "smooth", NUMBERS),
    Wrong("cache table ragged", "kv_bytes_per_token: 320 KiB/token",
          "kv_table: {tokens: [1, 2], size: [2 MiB]}", "kv_table", "model.kv_table.size",
          "has 1 entries, but tokens has 2", "one entry of size", NUMBERS),
    Wrong("cache table flat", "kv_bytes_per_token: 320 KiB/token",
          "kv_table: {tokens: [1, 2], size: [2 MiB, 2 MiB]}", "kv_table", "model.kv_table.size",
          "no room", "further apart", NUMBERS),
    Wrong("budget below 0", "links:", "budget: -1 USD/h\nlinks:", "budget", "budget", "-1 USD/h",
          "0"),
    Wrong("limit on a class where none is named", "slo:\n",
          "slo:\n  classes: {long: {ttft_p90: 9 s}}\n", "classes:", "slo.classes.long",
          "no traffic class", "give entries of workload.mixture"),
    Wrong("limit on an unknown class", "slo:\n", "slo:\n  classes: {lang: {ttft_p90: 9 s}}\n",
          "lang", "slo.classes.lang", "no traffic class", "long", MANY),
    Wrong("class without a limit", "slo:\n", "slo:\n  classes: {long: {}}\n", "long: {}",
          "slo.classes.long", "sets no limit", "ttft_p90", MANY),
    Wrong("falling limits of a class", "slo:\n",
          "slo:\n  classes: {long: {ttft_p90: 9 s, ttft_p95: 8 s}}\n", "long: {",
          "slo.classes.long.ttft_p95", "never binds", "9 s", MANY),
    Wrong("limit of a class without unit meaning", "slo:\n",
          "slo:\n  classes: {long: {ttft_p90: 9 GB}}\n", "9 GB", "slo.classes.long.ttft_p90",
          "9 GB", "s", MANY),
    Wrong("fewer atoms than classes", "  classes:", "  max_atoms: 1\n  classes:", "max_atoms",
          "workload.max_atoms", "2 traffic classes", "2 or more", MANY),
    Wrong("classes with routing by size", "slo:\n", "slo:\n  classes: {long: {ttft_p90: 9 s}}\n",
          "classes:", "slo.classes.long", "does not plan apart", "remove",
          SIZES.replace("  mixture:\n", "  mixture:\n    name: long\n")),
    Wrong("more chips stay than there are", "available: 256", "available: 256\n        min: 300",
          "min: 300", "sites.shanghai.chips.h20.min", "more than available = 256", "256"),
    Wrong("broken nodes", "available: 256", "available: 250\n        node: 8", "available: 250",
          "sites.shanghai.chips.h20.available", "no multiple of node = 8", "248 or 256"),
    Wrong("broken nodes under contract", "available: 256",
          "available: 256\n        min: 12\n        node: 8", "min: 12",
          "sites.shanghai.chips.h20.min", "no multiple of node = 8", "8 or 16"),
    Wrong("node of nothing", "available: 256", "available: 256\n        node: 0", "node: 0",
          "sites.shanghai.chips.h20.node", "0", "1"),
    Wrong("chips that stay below 0", "available: 256", "available: 256\n        min: -8", "min: -8",
          "sites.shanghai.chips.h20.min", "-8", "0"),
    Wrong("chips that stay as text", "available: 256", "available: 256\n        min: few",
          "min: few", "sites.shanghai.chips.h20.min", "few", "schema"),
    Wrong("room below the contracts", "    roles: [decode]",
          "    max_chips: 8\n    roles: [decode]", "max_chips", "sites.shanghai.max_chips",
          "less than the 16 chips that stay", "16 or more",
          scenario_text().replace("available: 256", "available: 256\n        min: 16")),
    Wrong("no room", "    roles: [decode]", "    max_chips: 0\n    roles: [decode]", "max_chips",
          "sites.shanghai.max_chips", "0", "1"),
    Wrong("contracts with routing by size", "available: 256", "available: 256\n        min: 16",
          "min: 16", "sites.shanghai.chips.h20.min", "is not planned with", "remove", SIZES),
    Wrong("regions that are not all", "links:", f"users: {{north: {{share: 60 %, {RTT}}}}}\nlinks:",
          "users", "users", "sum to 0.6", "+0.4"),
    Wrong("region without a site", "links:",
          "users: {north: {share: 100 %, rtt: {beijing: 1 ms}}}\nlinks:", "users",
          "users.north.rtt", "shanghai", "shanghai: 30 ms"),
    Wrong("region to an unknown site", "links:",
          f"users: {{north: {{share: 100 %, {RTT[:-1]}, bejing: 1 ms}}}}}}\nlinks:", "bejing",
          "users.north.rtt.bejing", "is not a site", "beijing"),
    Wrong("latency without a time", "links:",
          "users: {north: {share: 100 %, rtt: {beijing: 5 km, shanghai: 1 ms}}}\nlinks:", "5 km",
          "users.north.rtt.beijing", "5 km", "ms"),
    Wrong("latency below 0", "links:",
          "users: {north: {share: 100 %, rtt: {beijing: -5 ms, shanghai: 1 ms}}}\nlinks:", "-5 ms",
          "users.north.rtt.beijing", "-5 ms", "0"),
    Wrong("limit on an unknown region", "slo:\n",
          f"users: {{north: {{share: 100 %, {RTT}}}}}\nslo:\n"
          "  regions: {norht: {ttft_p90: 9 s}}\n", "norht", "slo.regions.norht",
          "no users of that name", "north"),
    Wrong("limit on a region without users", "slo:\n", "slo:\n  regions: {n: {ttft_p90: 9 s}}\n",
          "regions:", "slo.regions.n", "no users of that name", "add users"),
    Wrong("region without a limit", "slo:\n",
          f"users: {{north: {{share: 100 %, {RTT}}}}}\nslo:\n  regions: {{north: {{}}}}\n",
          "regions:", "slo.regions.north", "sets no limit", "ttft_p90"),
    Wrong("users with routing by size", "links:\n",
          f"users: {{north: {{share: 100 %, {RTT}}}}}\nlinks:\n", "users", "users",
          "not planned with", "remove users", SIZES),
    Wrong("two lines of one name", LINE, 2 * NAMED_LINE, "", "links.1.name",
          "is the name of links.0", "name of its own"),
    Wrong("tie break of goodput", "links:", "objective: goodput\ntie_break: ttft_p90\nlinks:",
          "tie_break", "tie_break", "least cost", "objective: cost_per_token"),
    Wrong("tie break by an unknown percentile", "links:", "tie_break: ttft90\nlinks:",
          "tie_break", "tie_break", "ttft90", "ttft_p90"),
    Wrong("engine of unknown chip", "  - chip: h200", "  - chip: h2000", "h2000", "engines.0.chip",
          "h2000 is at no site", "h200", SHAPES),
    Wrong("engine at unknown site", "  - chip: h200", "  - sites: [bejing]\n    chip: h200",
          "bejing", "engines.0.sites", "bejing, which is not a site", "beijing", SHAPES),
    Wrong("engine at a site without the chip", "  - chip: h200",
          "  - sites: [shanghai]\n    chip: h200", "sites: [shanghai]", "engines.0.sites",
          "shanghai, which has no h200", "add h200", SHAPES),
    Wrong("engine larger than stock", "chips: 8\n    data_parallel: 8", "chips: 256", "chips: 256",
          "engines.0.chips", "256 is more than any site has of h200 (128)", "128", SHAPES),
    Wrong("engine in a role of no site", "  - chip: h200", "  - roles: [decode]\n    chip: h200",
          "roles: [decode]\n    chip: h200", "engines.0.roles", "decode", "prefill", SHAPES),
    Wrong("engine twice", "data_parallel: 8", "data_parallel: 8\n  - {chip: h200, chips: 8, "
          "data_parallel: 8, max_batch: 9}", "- {chip", "engines.1", "of engines.0", "names",
          SHAPES),
    Wrong("no engine for decode", "  - chip: h20\n", "  - chip: h20\n    roles: [relay, prefill]\n",
          "engines:", "engines", "no shape for decode at shanghai", "h20 with the role decode",
          SHAPES.replace("roles: [decode]", "roles: [decode, prefill]")),
    Wrong("power unknown", "    roles: [decode]\n    chips:\n      h20:",
          "    power: 100 kW\n    roles: [decode]\n    chips:\n      tpu-v6e:", "tpu-v6e",
          "sites.shanghai.chips.tpu-v6e", "power of tpu-v6e is not known", "power: 700 W"),
    Wrong("missing calibration", "links:", "efficiencies: {file: cal.yaml}\nlinks:", "cal.yaml",
          "efficiencies.file", "cal.yaml does not exist", "folder"),
    Wrong("newer format", "schema_version: 1", "schema_version: 2", "schema_version",
          "schema_version", "2 is newer", "upgrade"),
    Wrong("dotted site name", "  shanghai:\n", "  shang.hai:\n", "shang.hai:",
          "sites.shang.hai", "the name shang.hai", "letters",
          scenario_text(links="").replace("relay]", "relay, decode]")),
    # Losses to tolerate
    Wrong("tolerated key", "sites:", "tolerate: {engine: 1}\nsites:",
          "tolerate", "tolerate.engine", "engine", "did you mean engines?"),
    Wrong("tolerated no mapping", "sites:", "tolerate: any\nsites:",
          "tolerate", "tolerate", "is not a mapping", "{engines: 1 per pool"),
    Wrong("tolerated engines in words", "sites:", "tolerate: {engines: one per pool}\nsites:",
          "tolerate", "tolerate.engines", "is not a number of engines", "1 per pool"),
    Wrong("tolerated engines of a site", "sites:", "tolerate: {engines: 1 per site}\nsites:",
          "tolerate", "tolerate.engines", "is not a number of engines", "1 per pool"),
    Wrong("tolerated half an engine", "sites:", "tolerate: {engines: 0.5}\nsites:",
          "tolerate", "tolerate.engines", "0.5 is not a whole number", "write 0"),
    Wrong("tolerated engines below zero", "sites:", "tolerate: {engines: -1}\nsites:",
          "tolerate", "tolerate.engines", "-1", "write 0"),
    Wrong("tolerated engines without end", "sites:", "tolerate: {engines: .inf}\nsites:",
          "tolerate", "tolerate.engines", "inf", "engines: 1 per pool"),
    Wrong("tolerated engines beyond reason", "sites:",
          "tolerate: {engines: 100000 per pool}\nsites:",
          "tolerate", "tolerate.engines", "must be at most 1,000", "write 1000"),
    Wrong("tolerated engines true", "sites:", "tolerate: {engines: true}\nsites:",
          "tolerate", "tolerate.engines", "true", "engines: 1 per pool"),
    Wrong("tolerated site unknown", "sites:", "tolerate: {site: shangai}\nsites:",
          "tolerate", "tolerate.site", "shangai is no site", "did you mean shanghai?"),
    Wrong("tolerated site a list", "sites:", "tolerate: {site: [beijing]}\nsites:",
          "tolerate", "tolerate.site", "is not text", "site: any"),
    Wrong("tolerated site a number", "sites:", "tolerate: {site: 1}\nsites:",
          "tolerate", "tolerate.site", "is not text", "write"),
    Wrong("tolerated site empty", "sites:", "tolerate: {site: \"\"}\nsites:",
          "tolerate", "tolerate.site", "is empty", "site: any"),
    Wrong("tolerated line unknown", "sites:", "tolerate: {line: shanghai-beijing}\nsites:",
          "tolerate", "tolerate.line", "shanghai-beijing is no line", "beijing-shanghai"),
    Wrong("tolerated line a site", "sites:", "tolerate: {line: beijing}\nsites:",
          "tolerate", "tolerate.line", "beijing is no line", "did you mean beijing-shanghai?"),
    Wrong("tolerated limit without unit", "sites:",
          "tolerate: {site: any, slo: {ttft_p90: soon}}\nsites:",
          "tolerate", "tolerate.slo.ttft_p90", "soon", "10 s"),
    Wrong("tolerated limit zero", "sites:", "tolerate: {site: any, slo: {ttft_p90: 0 s}}\nsites:",
          "tolerate", "tolerate.slo.ttft_p90", "must be above 0 s", "10 s"),
    Wrong("tolerated limit unknown", "sites:",
          "tolerate: {site: any, slo: {ttft_p80: 9 s}}\nsites:",
          "tolerate", "tolerate.slo.ttft_p80", "ttft_p80", "did you mean ttft_p"),
    Wrong("tolerated limit stricter", "sites:",
          "tolerate: {site: any, slo: {ttft_p90: 9 s}}\nsites:",
          "tolerate", "tolerate.slo.ttft_p90", "9 s is stricter than slo.ttft_p90 = 10 s",
          "10 s or more"),
    Wrong("tolerated slo of a plan", "sites:",
          "tolerate: {site: any, slo: {slot_wait: 1 %}}\nsites:",
          "tolerate", "tolerate.slo.slot_wait", "unknown key slot_wait", "known keys are"),
    Wrong("tolerated limits for nothing", "sites:", "tolerate: {slo: {ttft_p90: 20 s}}\nsites:",
          "tolerate", "tolerate.slo", "nothing is tolerated", "site: any"),
    Wrong("tolerated without cost", "sites:", "objective: goodput\ntolerate: {site: any}\nsites:",
          "tolerate", "tolerate", "objective = goodput", "objective: cost_per_token"),
    Wrong("tolerated with a tie", "sites:", "tie_break: ttft_p90\ntolerate: {site: any}\nsites:",
          "tie_break", "tie_break", "does not go with tolerate", "remove one"),
    Wrong("tolerated by size", "sites:", "tolerate: {site: any}\nsites:",
          "tolerate", "tolerate", "routing.between = prefill", "remove one", SIZES),
    # YAML
    Wrong("key twice", "name: agent-fleet", "name: a\nname: b", "name: b", "name",
          "appears twice; first on line 2", "keep one"),
    Wrong("nested key twice", "available: 256", "available: 256\n        available: 3",
          "available: 3", "sites.shanghai.chips.h20.available", "appears twice", "keep one"),
    Wrong("tab", "  rate:", "\trate:", "\trate", "", "a tab indents", "spaces"),
    Wrong("open bracket", "roles: [decode]", "roles: [decode", "chips:\n      h20:", "",
          "not valid YAML", "brackets"),
    Wrong("open quote", "name: agent-fleet", 'name: "agent-fleet', "", "", "not valid YAML",
          "quotes"),
    Wrong("bad indentation", "    rtt: 28 ms", "   rtt: 28 ms", "   rtt: 28", "",
          "not valid YAML", "indentation"),
    Wrong("two documents", "slo:", "---\nslo:", "---", "", "several YAML documents", "---"),
    Wrong("undefined alias", "28 ms", "*x", "*x", "", "alias", "check"),
    Wrong("tag", "28 ms", "!!python/name:os.system x", "!!python", "links.0.rtt", "tag", "remove"),
    Wrong("control character", "agent-fleet", "agent\x07fleet", "agent", "", "control character",
          "UTF-8"),
]  # fmt: skip


def issues_of(path: Path) -> tuple[Issue, ...]:
    """Return the issues of a file."""
    with pytest.raises(InputError) as caught:
        load_scenario(path)
    return caught.value.issues


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_each_fault_has_place_value_and_mend(case: Wrong, tmp_path: Path) -> None:
    assert case.text.count(case.old) >= 1, "the case does not change the scenario"
    text = case.text.replace(case.old, case.new, 1)
    file = tmp_path / "fleet.yaml"
    file.write_text(text, encoding="utf-8")
    (tmp_path / "requests.csv").write_text("arrival_s,input_tokens,cached_tokens,output_tokens\n")
    (tmp_path / "empty.csv").write_text("")
    issues = issues_of(file)
    shown = "\n".join(f"{i.line} {i.path}: {i.message} [{i.help}]" for i in issues)
    assert any(issue.path == case.path for issue in issues), shown
    issue = next(issue for issue in issues if issue.path == case.path)
    assert issue.file == str(file)
    if case.at:
        index = text.rindex(case.at) if case.name in ("line twice",) else text.index(case.at)
        assert issue.line == text.count("\n", 0, index) + 1, shown
    assert issue.line > 0
    assert case.message in issue.message, shown
    assert issue.help, shown
    assert case.help in issue.help, shown
    if case.path:
        assert len(issues) == 1, shown


@pytest.mark.parametrize(("wrong", "right"), [
    ("{min: 10 Gbps, max: 100 Gbps, step: 7 Gbps}", "7.5 Gbps"),
    ("{min: 10 Gbps, max: 100 Gbps}", "9 Gbps"),
    ("{min: 10 Gbps, max: 100 Gbps, step: 1 Mbps}", "4.5 Gbps"),
])  # fmt: skip
def test_the_suggested_step_works(wrong: str, right: str, tmp_path: Path) -> None:
    text = scenario_text()
    size = "{min: 10 Gbps, max: 100 Gbps, step: 10 Gbps}"
    file = tmp_path / "fleet.yaml"
    file.write_text(text.replace(size, wrong))
    assert issues_of(file)[0].help.endswith(f" step: {right}")
    file.write_text(text.replace(size, size.replace("step: 10 Gbps", f"step: {right}")))
    assert len(load_scenario(file).links[0].bandwidth.levels()) > 5


def test_names_are_distinct_and_many() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 70
