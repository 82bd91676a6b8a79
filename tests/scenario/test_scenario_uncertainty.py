"""Uncertain inputs as written: distributions against SciPy, and every way to get them wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scenario_texts import scenario_text
from scipy import stats

from pdd_plan.errors import InputError, Issue
from pdd_plan.scenario import Scenario, load_scenario
from pdd_plan.scenario.spread import TAIL, Spread
from pdd_plan.scenario.uncertain import UncertainValue, uncertain_values

LEVELS = np.linspace(0.0, 1.0, 41)
DRAWN = TAIL + (1.0 - 2.0 * TAIL) * LEVELS


@pytest.mark.parametrize(
    ("spread", "law"),
    [
        (Spread("uniform", 2.0, 5.0), stats.uniform(2.0, 3.0)),
        (Spread("triangular", 1.0, 5.0, 2.0), stats.triang(0.25, 1.0, 4.0)),
        (Spread("triangular", 1.0, 5.0, 5.0), stats.triang(1.0, 1.0, 4.0)),
        (Spread("normal", center=3.0, scale=0.5), stats.norm(3.0, 0.5)),
        (Spread("normal", 2.5, 4.5, 3.0, 0.5), stats.truncnorm(-1.0, 3.0, 3.0, 0.5)),
        (Spread("lognormal", center=3.0, scale=0.2), stats.lognorm(0.2, scale=3.0)),
    ],
    ids=lambda value: value.kind if isinstance(value, Spread) else "",
)
def test_quantiles_are_those_of_the_textbook_law(spread, law):
    assert spread.quantile(LEVELS) == pytest.approx(law.ppf(DRAWN), rel=1e-9)


def test_a_truncated_lognormal_is_the_law_given_its_interval():
    law = stats.lognorm(0.3, scale=2.0)
    low, high = law.cdf([1.5, 3.0])
    values = Spread("lognormal", 1.5, 3.0, 2.0, 0.3).quantile(LEVELS)
    assert values == pytest.approx(law.ppf(low + DRAWN * (high - low)), rel=1e-9)


@pytest.mark.parametrize(
    ("low", "center", "high"), [(0.528, 0.573, 0.637), (0.894, 0.93, 0.93), (8.47, 19.3, 28.2)]
)
def test_a_fitted_range_leaves_a_tenth_beyond_either_end(low, center, high):
    spread = Spread("range", low, high, center)
    values = spread.quantile(np.linspace(0.0, 1.0, 200_001))
    assert np.mean(values < low) == pytest.approx(0.1, abs=1e-4)
    assert np.mean(values > high) == pytest.approx(0.1, abs=1e-4)
    # The density of the logarithm is greatest at the fitted value.
    counts, edges = np.histogram(np.log(values), 50)
    peak = int(np.argmax(counts))
    assert edges[max(peak - 1, 0)] <= math.log(center) <= edges[min(peak + 2, 50)]


@pytest.mark.parametrize(
    "spread",
    [
        Spread("uniform", 0.1, 0.1),
        Spread("triangular", 0.1, 0.1, 0.1),
        Spread("normal", center=0.1, scale=0.0),
        Spread("lognormal", center=0.1, scale=0.0),
        Spread("range", 0.1, 0.1, 0.1),
    ],
    ids=lambda spread: spread.kind,
)
def test_no_spread_gives_the_very_number(spread):
    values = spread.quantile(LEVELS)
    tolerance = 1e-15 if spread.kind == "range" else 0.0
    assert values == pytest.approx(np.full_like(LEVELS, 0.1), rel=tolerance, abs=0.0)


def test_a_scaled_law_is_that_of_the_scaled_number():
    for spread in (Spread("normal", 0.5, 2.0, 1.0, 0.2), Spread("lognormal", 0.5, 2.0, 1.0, 0.2)):
        assert spread.scaled(11.0).quantile(LEVELS) == pytest.approx(11.0 * spread.quantile(LEVELS))


def load(tmp_path, section: str) -> Scenario:
    file = tmp_path / "s.yaml"
    file.write_text(scenario_text(tail=f"uncertainty: {section}\n"), encoding="utf-8")
    return load_scenario(file)


def only(tmp_path, entry: str) -> UncertainValue:
    (value,) = uncertain_values(load(tmp_path, f"{{inputs: [{entry}]}}"))
    return value


def test_numbers_are_read_in_the_unit_of_their_path(tmp_path):
    value = only(tmp_path, "{path: workload.rate, low: 600 req/min, high: 14}")
    assert (value.unit, value.written) == ("req/s", 12.0)
    assert value.spread == Spread("uniform", 10.0, 14.0)
    assert value.change(0.1 + 0.2) == f"workload.rate={0.1 + 0.2!r}"


def test_relative_values_are_factors_on_what_is_written(tmp_path):
    entry = "{path: links.beijing-shanghai.price, low: 80 %, high: 1.5x, relative: true}"
    value = only(tmp_path, entry)
    assert value.spread.ends() == pytest.approx((640.0, 1200.0), rel=1e-5)


def test_what_the_scenario_leaves_out_can_be_uncertain(tmp_path):
    value = only(tmp_path, "{path: efficiencies.memory, low: 80 %, high: 90 %}")
    assert (value.written, value.spread.low) == (None, 0.8)


RATE = "path: workload.rate"


@pytest.mark.parametrize(
    ("section", "path", "message", "help_text"),
    [
        ("[1]", "", "is not a mapping", "key: value"),
        ("90 %", "", "is not a mapping", "key: value"),
        ("{}", "", "names nothing that is uncertain", "workload.rate"),
        ("{efficiencies: guessed}", ".efficiencies", "guessed", "fitted"),
        ("{efficiencies: fitted, confidence: 0}", ".confidence", "above 0", "90 %"),
        ("{efficiencies: fitted, confidence: 95}", ".confidence", "below 1", "95 %"),
        ("{efficiencies: fitted, confidence: .nan}", ".confidence", "nan", "90 %"),
        ("{efficiencies: fitted, samples: 10}", ".samples", "at least 50", "50"),
        ("{efficiencies: fitted, samples: many}", ".samples", "many", "schema"),
        ("{efficiencies: fitted, confidence: 99 %}", ".samples", "too few", "samples: 1104"),
        ("{efficiencies: fitted, draws: 9}", ".draws", "unknown key draws", "samples"),
        ("{inputs: [{low: 3, high: 4}]}", ".inputs.0.path", "missing", "workload.rate"),
        (f"{{inputs: [{{{RATE}, low: 3}}]}}", ".inputs.0.high", "missing", "14 req/s"),
        (f"{{inputs: [{{{RATE}, low: yes, high: 4}}]}}", ".inputs.0.low", "yes", "12 req/s"),
        (f"{{inputs: [{{{RATE}, low: true, high: 4}}]}}", ".inputs.0.low", "no number", "unit"),
        (f"{{inputs: [{{{RATE}, low: .inf, high: 4}}]}}", ".inputs.0.low", "finite", "12 req/s"),
        (f"{{inputs: [{{{RATE}, low: 3 ms, high: 4}}]}}", ".inputs.0.low", "a time", "12 req/s"),
        (f"{{inputs: [{{{RATE}, low: 5, high: 4}}]}}", ".inputs.0.low", "below high", "swap"),
        (f"{{inputs: [{{{RATE}, low: -1, high: 4}}]}}", ".inputs.0.low", "down to -1", "low: 0"),
        (
            f"{{inputs: [{{{RATE}, distribution: normal, mean: 3, std: 1}}]}}",
            ".inputs.0",
            "down to -1.7",
            "low: 0",
        ),
        (
            f"{{inputs: [{{{RATE}, distribution: normal, mean: 3, std: -1}}]}}",
            ".inputs.0.std",
            "negative",
            "write 0",
        ),
        (
            f"{{inputs: [{{{RATE}, distribution: normal, mean: 3, std: 1, low: 4}}]}}",
            ".inputs.0.mean",
            "between low and high",
            "move it",
        ),
        (
            f"{{inputs: [{{{RATE}, distribution: lognormal, median: 0, sigma: 1}}]}}",
            ".inputs.0.median",
            "above 0",
            "positive",
        ),
        (
            f"{{inputs: [{{{RATE}, distribution: triangular, low: 3, mode: 9, high: 4}}]}}",
            ".inputs.0.mode",
            "between low",
            "move it",
        ),
        (
            f"{{inputs: [{{{RATE}, distribution: lognorm, median: 3, sigma: 1}}]}}",
            ".inputs.0.distribution",
            "lognorm",
            "did you mean lognormal?",
        ),
        (
            "{inputs: [{path: workload.rats, low: 3, high: 4}]}",
            ".inputs.0.path",
            "workload.rats is not in the scenario",
            "did you mean workload.rate?",
        ),
        (
            "{inputs: [{path: sites.tokyo.power, low: 3, high: 4}]}",
            ".inputs.0.path",
            "tokyo",
            "beijing",
        ),
        (
            "{inputs: [{path: sites.beijing.chips.h200.available, low: 3, high: 4}]}",
            ".inputs.0.path",
            "no quantity",
            "workload.rate",
        ),
        ("{inputs: [{path: objective, low: 3, high: 4}]}", ".inputs.0.path", "no quantity", "rate"),
        (
            "{inputs: [{path: prices.h200, low: 3, high: 4}]}",
            ".inputs.0.path",
            "used by no site",
            "sites.<site>.chips.h200.price",
        ),
        (
            "{inputs: [{path: efficiencies.nic, low: 0.9, high: 1.1, relative: true}]}",
            ".inputs.0.relative",
            "gives no efficiencies.nic",
            "write efficiencies.nic",
        ),
        (
            "{inputs: [{path: efficiencies.nic, low: 0.9, high: 1.1}]}",
            ".inputs.0.high",
            "up to 1.1",
            "high: 1",
        ),
        (
            f"{{inputs: [{{{RATE}, low: 3, high: 4}}, {{{RATE}, low: 3, high: 5}}]}}",
            ".inputs.1.path",
            "uncertain already in entry 0",
            "one distribution",
        ),
    ],
)
def test_a_wrong_section_is_told(tmp_path, section, path, message, help_text):
    issue = first_issue(tmp_path, section)
    assert issue.path == f"uncertainty{path}"
    assert issue.line > 0
    assert message in issue.message
    assert help_text in issue.help


def first_issue(tmp_path, section: str) -> Issue:
    with pytest.raises(InputError) as caught:
        load(tmp_path, section)
    (issue,) = caught.value.issues
    return issue


def test_every_wrong_input_is_told_at_once(tmp_path):
    section = "{inputs: [{path: a, low: 1, high: 2}, {path: b, low: 1, high: 2}], samples: 300}"
    with pytest.raises(InputError) as caught:
        load(tmp_path, section)
    assert [issue.path for issue in caught.value.issues] == [
        "uncertainty.inputs.0.path",
        "uncertainty.inputs.1.path",
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [("objective=goodput", "needs a demand"), ("objective=bcr", "needs a demand")],
)
def test_a_question_without_a_demand_is_refused(tmp_path, change, said):
    file = tmp_path / "s.yaml"
    tail = "uncertainty: {efficiencies: fitted}\n"
    file.write_text(scenario_text(tail=tail), encoding="utf-8")
    with pytest.raises(InputError, match=said):
        load_scenario(file, [change])


def test_the_section_can_be_switched_off(tmp_path):
    file = tmp_path / "s.yaml"
    tail = "uncertainty: {efficiencies: fitted}\n"
    file.write_text(scenario_text(tail=tail), encoding="utf-8")
    assert load_scenario(file, ["uncertainty=null"]).uncertainty is None
