"""Chip and link profiles against the table of facts, and malformed ones against their messages."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

import pytest

from pdd_plan.catalog import (
    absolute_chip,
    check_profiles,
    chip_names,
    describe_chip,
    describe_link,
    describe_model,
    link_names,
    load_chip,
    load_link,
)
from pdd_plan.errors import InputError

CHIPS = [
    "a100",
    "h100",
    "h200",
    "h800",
    "h20",
    "l40s",
    "rtx-pro-6000",
    "b200",
    "b300",
    "gb200",
    "gb300",
    "mi300x",
    "mi325x",
    "mi355x",
    "ascend-910b",
    "ascend-910c",
    "gaudi-3",
    "tpu-v5e",
    "tpu-v6e",
    "tpu-v7",
    "trainium2",
    "mtt-s5000",
    "gpu-a",
    "chip-e",
]

# Fact of the table, field of the profile, factor to SI.
FACTS = {
    "dense_bf16": ("flop_per_s.bf16", 1e12),
    "dense_fp8": ("flop_per_s.fp8", 1e12),
    "dense_int8": ("flop_per_s.int8", 1e12),
    "dense_fp4": ("flop_per_s.fp4", 1e12),
    "memory": ("memory_bytes", 2**30),
    "mem_bw": ("memory_bytes_per_s", 1e12),
    "scaleup_oneway": ("scaleup_bytes_per_s", 1e9),
    "scaleup_domain": ("scaleup_domain_chips", 1),
    "chips_per_node": ("chips_per_node", 1),
    "tdp": ("tdp_w", 1),
    "nic": ("nic_bytes_per_s", 1e9 / 8),
}


def test_all_chips_are_there_and_sound():
    assert sorted(CHIPS) == chip_names()
    assert check_profiles() == []


def test_maker_figures():
    # Data sheets: H100 SXM 989 dense bf16 and 1,979 dense fp8 TFLOP/s, 3.35 TB/s, NVLink 900 GB/s
    # in both directions, 400 Gbps; MI300X 5.3 TB/s; TPU v5e 197 TFLOP/s; GB200 racks of 72.
    h100 = load_chip("h100")
    assert dict(h100.flop_per_s) == {"bf16": 989e12, "fp8": 1979e12, "int8": 1979e12}
    assert h100.memory_bytes == 80 * 2**30
    assert h100.memory_bytes_per_s == 3.35e12
    assert h100.scaleup_bytes_per_s == 900e9 / 2
    assert h100.nic_bytes_per_s == 50e9
    assert (h100.scaleup_domain_chips, h100.chips_per_node, h100.tdp_w) == (8, 8, 700)
    assert load_chip("mi300x").memory_bytes_per_s == 5.3e12
    assert load_chip("tpu-v5e").flop_per_s["bf16"] == 197e12
    assert load_chip("gb200").scaleup_domain_chips == 72


def test_every_fact_of_the_table(data_dir):
    with (data_dir / "facts" / "chips.csv").open() as file:
        rows = list(csv.DictReader(file))
    seen: dict[str, set[str]] = {}
    for row in rows:
        chip = load_chip(row["chip"])  # the table's names are aliases
        field, factor = FACTS[row["fact"]]
        fact = chip.facts[field]
        assert fact.si == pytest.approx(float(row["value"]) * factor, rel=1e-12), row
        assert fact.confidence == row["confidence"], row
        key, _, kind = field.partition(".")
        value = chip.flop_per_s[kind] if kind else getattr(chip, key)
        assert value == fact.si, row
        seen.setdefault(chip.name, set()).add(field)
    assert set(seen) == set(CHIPS) - {"gpu-a", "chip-e"}
    for name, fields in seen.items():
        assert set(load_chip(name).facts) == fields, f"{name} has numbers that the table lacks"


def test_every_price_of_the_table(data_dir):
    with (data_dir / "facts" / "prices.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["chip"] != "A800-80G"]
    for row in rows:
        quotes = load_chip(row["chip"]).prices
        found = [q for q in quotes if (q.kind, q.as_of) == (row["kind"], row["as_of"])]
        assert len(found) == 1, row
        (quote,) = found
        assert (quote.low, quote.high) == (float(row["low"]), float(row["high"])), row
        assert quote.currency == row["currency_per_chip_hour"], row
        assert quote.confidence == row["confidence"], row
        assert quote.per == "chip-hour"
    assert sum(len(load_chip(name).prices) for name in CHIPS) == len(rows)


@pytest.mark.parametrize("name", CHIPS)
def test_every_number_has_its_origin(name):
    chip = load_chip(name)
    assert chip.facts
    for key, fact in chip.facts.items():
        assert fact.source, key
        assert re.fullmatch(r"20\d\d(-\d\d){0,2}", fact.date), key
        assert fact.confidence in ("high", "medium", "low"), key
        assert math.isfinite(fact.si), key
        assert fact.si > 0, key
    for quote in chip.prices:
        assert quote.source
        assert quote.as_of
        assert 0 < quote.low <= quote.high


@pytest.mark.parametrize("name", CHIPS)
def test_peaks_are_dense(name):
    # Fewer bits are never slower, and half the bits at most twice as fast, on tensor units; B300
    # alone has three times the fp4 rate. A sparse figure taken for a dense one would show here.
    peaks = load_chip(name).flop_per_s
    if {"bf16", "fp8"} <= set(peaks):
        assert 1.0 <= peaks["fp8"] / peaks["bf16"] <= 2.05
    if {"fp8", "fp4"} <= set(peaks):
        assert 2.0 <= peaks["fp4"] / peaks["fp8"] <= 3.2


def test_peak_of_a_format_without_hardware():
    # Weights are widened to bf16 first.
    assert load_chip("a100").peak_flop_per_s("fp8") == 312e12
    assert load_chip("h100").peak_flop_per_s("mxfp4") == 989e12
    assert load_chip("b200").peak_flop_per_s("nvfp4") == 9000e12
    assert load_chip("b200").peak_flop_per_s("int4") == 2250e12
    with pytest.raises(InputError, match="mtt-s5000 has no known peak"):
        load_chip("mtt-s5000").peak_flop_per_s("bf16")


def test_relative_chips_follow_their_base():
    chip, stand_in = load_chip("chip-e"), load_chip("h100")
    assert chip.relative is not None
    assert (chip.relative.to, chip.relative.prefill, chip.relative.decode) == ("gpu-a", 0.81, 2.10)
    assert chip.memory_bytes == stand_in.memory_bytes
    assert chip.prices == ()
    # What is taken over from another chip is a guess, and the stand-in is labelled as one.
    assert {fact.confidence for fact in chip.facts.values()} == {"low"}
    assert "relative" in load_chip("gpu-a").low_confidence()
    assert "assumption" in load_chip("gpu-a").relative.source
    assert absolute_chip(chip) == (stand_in, 0.81, 2.10)
    assert absolute_chip(stand_in) == (stand_in, 1.0, 1.0)


def test_names_aliases_and_nearest_match():
    assert load_chip("H200-SXM").name == load_chip(" H200 ").name == "h200"
    assert load_chip("H100_SXM").name == "h100"
    with pytest.raises(InputError, match="unknown chip 'h2000'") as caught:
        load_chip("h2000")
    assert caught.value.issues[0].help == "did you mean 'h200'?"
    with pytest.raises(InputError) as caught:
        load_chip("zzzzzz")
    assert "known chips: a100" in caught.value.issues[0].help


def test_aliases_are_unique():
    owners: dict[str, str] = {}
    for name in chip_names():
        for alias in (name, *load_chip(name).aliases):
            assert owners.setdefault(alias, name) == name


OWN = """\
kind: chip
name: own
compute: {bf16: 500 TFLOP/s, fp8: 1 PFLOP/s}
memory: 96 GiB
memory_bandwidth: 4 TB/s
scaleup: 450 GB/s
scaleup_domain: 8
chips_per_node: 8 chips
nic: 400 Gbps
"""


def test_own_profile_in_short_form(tmp_path):
    chip = load_chip(_write(tmp_path, OWN))
    assert dict(chip.flop_per_s) == {"bf16": 5e14, "fp8": 1e15}
    assert chip.memory_bytes == 96 * 2**30
    assert chip.nic_bytes_per_s == 50e9
    assert chip.tdp_w is None
    assert {fact.confidence for fact in chip.facts.values()} == {"user"}


def test_own_relative_profile_keeps_its_own_memory(tmp_path):
    text = "name: e2\nrelative_to: h20\nprefill: 1.5\ndecode: 0.5x\nmemory: 64 GiB\n"
    chip = load_chip(_write(tmp_path, text))
    assert chip.memory_bytes == 64 * 2**30
    assert chip.facts["memory_bytes"].confidence == "user"
    assert chip.memory_bytes_per_s == 4e12
    assert absolute_chip(chip) == (load_chip("h20"), 1.5, 0.5)


@pytest.mark.parametrize(
    ("old", "new", "line", "message", "help_part"),
    [
        ("memory: 96", "memroy: 96", 4, "unknown key 'memroy'", "'memory'"),
        ("memory: 96 GiB", "memory: 96 TB/s", 4, "memory has unit 'TB/s'", "GiB"),
        ("memory: 96 GiB", "memory: lots", 4, "is no quantity", "such as"),
        ("memory: 96 GiB", "memory: -96 GiB", 4, "above 0", ""),
        ("memory: 96 GiB", "memory: 0 GiB", 4, "above 0", ""),
        ("memory: 96 GiB", "memory: [96]", 4, "is no quantity", ""),
        ("memory: 96 GiB\n", "", 1, "memory is missing", ""),
        ("bf16: 500", "bf17: 500", 3, "unknown key 'bf17'", "'bf16'"),
        ("compute: {bf16: 500 TFLOP/s, fp8: 1 PFLOP/s}\n", "", 1, "compute is missing", ""),
        ("compute: {bf16: 500 TFLOP/s, fp8: 1 PFLOP/s}", "compute: 5", 3, "must be a mapping", ""),
        ("nic: 400 Gbps", "nic: {value: 400}", 9, "lacks unit, source, date", ""),
        ("scaleup_domain: 8", "scaleup_domain: 8.5", 7, "whole number", ""),
        ("kind: chip", "kind: chop", 1, "'chop' is no chip profile", "kind: chip"),
        ("nic: 400 Gbps", "memory: 1 GiB", 9, "key 'memory' appears twice", ""),
        ("nic: 400 Gbps", "prefill: 2", 9, "prefill needs relative_to", ""),
        ("nic: 400 Gbps", "prices: 5", 9, "prices must be a list", ""),
        ("nic: 400 Gbps", "prices: [{low: 3}]", 9, "a price quote lacks kind", ""),
        ("nic: 400 Gbps", "notes: yes", 9, "notes must be a list", ""),
        ("nic: 400 Gbps", "nic: 'a: b", 9, "not valid YAML", ""),
        ("kind: chip", "relative_to: h2000", 1, "unknown chip 'h2000'", "'h200'"),
        ("kind: chip", "relative_to: h20", 1, "prefill is missing", "prefill: 1.0"),
    ],
)
def test_malformed_profiles(tmp_path, old, new, line, message, help_part):
    file = _write(tmp_path, OWN.replace(old, new))
    with pytest.raises(InputError) as caught:
        load_chip(file)
    issues = [issue for issue in caught.value.issues if message in issue.message]
    assert issues, caught.value.issues
    assert issues[0].line == line
    assert issues[0].file == str(file)
    assert help_part in issues[0].help
    assert [issue.line for issue in caught.value.issues] == sorted(
        issue.line for issue in caught.value.issues
    )


def test_all_faults_at_once(tmp_path):
    text = OWN.replace("96 GiB", "none").replace("4 TB/s", "4 W").replace("nic", "nick")
    with pytest.raises(InputError) as caught:
        load_chip(_write(tmp_path, text))
    assert [issue.line for issue in caught.value.issues] == [4, 5, 9]


def test_price_ranges_the_wrong_way_round(tmp_path):
    quote = "{kind: a, low: 3, high: 2, currency: USD, as_of: 2026, source: s, confidence: sure}"
    with pytest.raises(InputError) as caught:
        load_chip(_write(tmp_path, OWN + f"prices: [{quote}]\n"))
    messages = [issue.message for issue in caught.value.issues]
    assert "low = 3 is above high = 2" in messages
    assert any("confidence = 'sure'" in message for message in messages)


def test_relative_circles_are_found(tmp_path):
    first, second = tmp_path / "one.yaml", tmp_path / "two.yaml"
    for file, other in ((first, second), (second, first)):
        file.write_text(f"relative_to: {other.name}\nprefill: 1\ndecode: 1\n")
    with pytest.raises(InputError, match="relative to itself"):
        load_chip(first)


def test_missing_and_unreadable_files(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        load_chip(tmp_path / "absent.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        load_chip(tmp_path / "bytes.yaml")
    (tmp_path / "empty.yaml").write_text("")
    with pytest.raises(InputError, match="must be a mapping"):
        load_chip(tmp_path / "empty.yaml")


def test_links():
    assert {load_link(name).link_class for name in link_names()} == {"scale-up", "rdma", "wan"}
    for name in link_names():
        link = load_link(name)
        assert link.facts or link.prices, name
        for key, fact in link.facts.items():
            assert fact.source, (name, key)
            assert re.fullmatch(r"20\d\d(-\d\d){0,2}", fact.date), (name, key)
    line = load_link("wavelength-100g")
    assert line.bytes_per_s == 12.5e9
    assert load_link("beijing-shanghai").rtt_s == pytest.approx(0.0286)
    assert load_link("aws-inter-region").connection_cap_bytes_per_s == 5e9 / 8
    # 194 GB/s of 8 x 400 Gbps.
    assert load_link("rdma-400g").efficiency == pytest.approx(194 / 400, abs=0.006)
    with pytest.raises(InputError, match="unknown link 'wavelength-100'") as caught:
        load_link("wavelength-100")
    assert "wavelength-100g" in caught.value.issues[0].help


def test_scale_up_links_agree_with_the_chips():
    for link, chips in {
        "nvlink-3": ["a100"],
        "nvlink-4": ["h100", "h200", "h20"],
        "nvlink-4-h800": ["h800"],
        "nvlink-5": ["b200", "b300"],
        "nvlink-5-nvl72": ["gb200", "gb300"],
        "pcie-5": ["rtx-pro-6000"],
        "infinity-fabric-mi300": ["mi300x", "mi325x"],
        "infinity-fabric-mi355": ["mi355x"],
        "hccs-910b": ["ascend-910b"],
        "ub-910c": ["ascend-910c"],
        "ici-v6e": ["tpu-v6e"],
    }.items():
        profile = load_link(link)
        for chip in map(load_chip, chips):
            assert profile.bytes_per_s == chip.scaleup_bytes_per_s, chip.name
            assert profile.domain_chips == chip.scaleup_domain_chips, chip.name


def test_wan_prices_of_the_table(data_dir):
    with (data_dir / "facts" / "wan.csv").open() as file:
        rows = [
            row for row in csv.DictReader(file) if "/" in row["unit"] and "%" not in row["unit"]
        ]
    quotes = [quote for name in link_names() for quote in load_link(name).prices]
    for row in rows:
        if row["unit"] == "GB/s":
            continue
        currency, _, paid = row["unit"].partition("/")
        for value in row["value"].split(" / "):
            assert any(
                quote.low <= float(value) <= quote.high
                and (quote.currency, quote.per, quote.source) == (currency, paid, row["source"])
                for quote in quotes
            ), row


def test_own_link(tmp_path):
    file = tmp_path / "line.yaml"
    file.write_text("kind: link\nname: line\nclass: wan\nbandwidth: 30 Gbps\nrtt: 12 ms\n")
    link = load_link(file)
    assert (link.bytes_per_s, link.rtt_s) == (3.75e9, 0.012)
    file.write_text("kind: link\nname: line\nclass: van\nbandwidth: 30 ms\nefficiency: 120 %\n")
    with pytest.raises(InputError) as caught:
        load_link(file)
    assert [issue.line for issue in caught.value.issues] == [3, 4, 5]


def test_rows_for_people():
    rows = {row.label: row for row in describe_chip("h200")}
    assert (rows["memory"].value, rows["memory"].unit) == ("141", "GiB")
    assert rows["memory"].confidence == "high"
    assert rows["price seen: on-demand, specialist clouds"].value == "3.45 to 6.31"
    relative = {row.label: row.value for row in describe_chip("chip-e")}
    assert relative["decode speed relative to gpu-a"] == "2.1"
    model = {row.label: row for row in describe_model("deepseek-v3")}
    assert model["weights in all"].value == "671.0"
    assert model["KV cache, bf16"].value == "70272"
    assert model["KV heads"].value == "one latent"
    link = {row.label: row for row in describe_link("wavelength-10g")}
    assert link["bandwidth, one way"].value == "10"


def test_check_finds_what_is_wrong_in_given_files(tmp_path):
    sparse = _write(tmp_path, OWN.replace("fp8: 1 PFLOP/s", "fp8: 2 PFLOP/s"))
    (issue,) = check_profiles([sparse])
    assert "fp8 peak is 4 times the bf16 peak" in issue.message
    line = tmp_path / "line.yaml"
    line.write_text("kind: link\nname: l\nclass: wan\nbandwith: 1 Gbps\n")
    config = tmp_path / "config.json"
    config.write_text('{"model_type": "none"}')
    issues = check_profiles([line, config, tmp_path / "absent.yaml"])
    assert [
        bool(re.search(p, i.message))
        for p, i in zip(("bandwith", "model_type", "cannot read"), issues, strict=True)
    ] == [True] * 3


def _write(folder: Path, text: str) -> Path:
    file = folder / "own.yaml"
    file.write_text(text)
    return file
