"""A mix whose mean hit rate is set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdd_plan.errors import InputError
from pdd_plan.scenario import load_scenario
from pdd_plan.workload import build_workload
from pdd_plan.workload.atoms import Atoms
from pdd_plan.workload.mean_hit_rate import with_mean_hit_rate


def mix(hits, length=1000.0, decode=1.0) -> Atoms:
    hits = np.asarray(hits, dtype=float)
    lengths = np.full(hits.size, length)
    cached = np.minimum(hits * lengths, lengths - 1)
    return Atoms.from_columns(lengths, cached, np.full(hits.size, 10.0), None, cached * decode)


def test_misses_grow_by_one_factor():
    # Misses of 0.1 and 0.3, 0.2 in the mean; a mean hit rate of 0.7 needs 1.5 times as many.
    changed = with_mean_hit_rate(mix([0.9, 0.7]), 0.7)
    assert sorted(changed.missing_tokens) == pytest.approx([150, 450])
    assert changed.missing_tokens == pytest.approx(changed.uncached_tokens)


def test_no_request_misses_more_than_its_prompt():
    # Misses of 0.1 and 0.8: at a mean hit of 0.4 the second is at its prompt, the first at 0.2.
    changed = with_mean_hit_rate(mix([0.9, 0.2]), 0.4)
    assert sorted(changed.missing_tokens) == pytest.approx([200, 1000])


def test_both_caches_shrink_alike():
    # Main decode holds half of what prefill holds: misses 0.2 and 0.6; mean hit 0.4 -> 0.2.
    changed = with_mean_hit_rate(mix([0.8], decode=0.5), 0.2)
    assert changed.missing_tokens == pytest.approx([800])
    assert changed.uncached_tokens == pytest.approx([200 * 800 / 600])


@settings(deadline=None)
@given(
    hits=st.lists(st.floats(0, 1), min_size=1, max_size=20),
    wanted=st.floats(0.01, 0.99),
)
def test_the_mean_is_met_and_the_order_kept(hits, wanted):
    atoms = mix(hits, length=100_000.0)
    changed = with_mean_hit_rate(atoms, wanted)
    assert changed.mean(changed.hit_fraction) == pytest.approx(wanted, abs=1e-9)
    assert np.all(np.diff(changed.hit_fraction) >= -1e-12)
    assert changed.input_tokens == pytest.approx(atoms.input_tokens)
    assert np.all(changed.missing_tokens >= 1 - 1e-9)


def test_a_mean_out_of_reach_is_refused():
    with pytest.raises(ValueError, match=r"from 0 to 0\.999 are possible"):
        with_mean_hit_rate(mix([0.9, 0.5]), 0.9999)


@pytest.mark.parametrize("name", ["quickstart", "claude-code-agent"])
@pytest.mark.parametrize("wanted", [0.8, 0.97])
def test_mixtures_and_tables_take_it(name, wanted):
    scenario = load_scenario(name, [f"workload.mean_hit_rate={wanted}"])
    workload = build_workload(scenario)
    assert workload.summary.mean_hit_rate == pytest.approx(wanted, abs=1e-9)
    atoms = workload.atoms
    assert atoms.mean(atoms.hit_fraction) == pytest.approx(wanted, rel=2e-3)


def test_a_trace_takes_it_and_is_not_replayed_with_other_hits(tmp_path):
    rows = "".join(f"{k},1000,{900 if k % 2 else 500},10\n" for k in range(40))
    (tmp_path / "t.csv").write_text("arrival_s,input_tokens,cached_tokens,output_tokens\n" + rows)
    text = load_text(tmp_path, "trace: {path: t.csv, format: csv}, mean_hit_rate: 40 %")
    workload = build_workload(load_scenario(text))
    assert workload.summary.mean_hit_rate == pytest.approx(0.4)
    assert workload.raw is None


def load_text(folder, workload):
    file = folder / "s.yaml"
    file.write_text(
        "schema_version: 1\nname: s\nmodel: llama-3.1-8b\nprecision: {weights: fp8}\n"
        f"workload: {{{workload}}}\nslo: {{ttft_p90: 2 s}}\n"
        "sites: {a: {roles: [prefill, decode], chips: {h100: {available: 8, price: 3 USD/h}}}}\n"
    )
    return file


def test_the_error_names_line_value_and_what_is_possible(tmp_path):
    classes = "rate: 1 req/s, classes: [{share: 1, input_tokens: 100, output_tokens: 10}]"
    file = load_text(tmp_path, f"{classes}, mean_hit_rate: 99.9 %")
    with pytest.raises(InputError) as caught:
        build_workload(load_scenario(file))
    (issue,) = caught.value.issues
    assert (issue.path, issue.line) == ("workload.mean_hit_rate", 5)
    assert "0.999" in issue.message
    assert "from 0 to 0.99 are possible" in issue.help


@pytest.mark.parametrize("value", ["-1 %", "101 %", "much", "inf", "2 s", "[1]"])
def test_wrong_values_are_told(value):
    with pytest.raises(InputError) as caught:
        load_scenario("quickstart", [f"workload.mean_hit_rate={value}"])
    assert caught.value.issues[0].path == "workload.mean_hit_rate"
