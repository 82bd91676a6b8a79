"""Workloads of scenarios, by every way to describe one."""

import numpy as np
import pytest

from pdd_plan.errors import InputError
from pdd_plan.scenario import SharedScenario, load_question, scenario_from_data
from pdd_plan.workload import at_rate, build_workload
from pdd_plan.workload.compression import compression_error
from pdd_plan.workload.trace_mix import trace_atoms
from tests.conftest import REPOSITORY

BASE = {
    "schema_version": 1,
    "model": "llama-3.3-70b",
    "precision": {"weights": "fp8", "kv_cache": "fp8"},
    "slo": {"ttft_p90": "10 s"},
    "sites": {
        "here": {
            "roles": ["prefill", "relay", "decode"],
            "chips": {"h200": {"available": 64, "price": "3.8 USD/h"}},
        }
    },
}
CSV = "arrival_s,input_tokens,cached_tokens,output_tokens\n"
MIXTURE = {
    "input_tokens": {"distribution": "lognormal", "median": 20000, "sigma": 0.8, "min": 100},
    "hit_rate": {"distribution": "skew", "share": 0.75, "at_least": 0.95, "mean": 0.9},
    "output_tokens": {"distribution": "range", "min": 50, "max": 450},
}


def built(workload, folder=None, **changes):
    file = str(folder / "scenario.yaml") if folder else ""
    return build_workload(scenario_from_data(BASE | {"workload": workload} | changes, file=file))


def write_trace(folder, count=3000, seed=0, cached=True):
    rng = np.random.default_rng(seed)
    arrival = np.cumsum(rng.exponential(0.5, count))
    length = rng.integers(1000, 50000, count)
    hit = np.floor(length * rng.beta(6, 1, count)) if cached else np.zeros(count)
    rows = zip(arrival, length, hit, rng.integers(1, 900, count), strict=True)
    text = CSV + "".join(f"{a:.6f},{i},{c:.0f},{o}\n" for a, i, c, o in rows)
    if not cached:
        text = "\n".join(",".join(np.delete(line.split(","), 2)) for line in text.split())
    (folder / "trace.csv").write_text(text)


def test_classes():
    work = built(
        {
            "rate": "3 req/s",
            "decode_hit_fraction": 0.5,
            "classes": [
                {"share": 0.25, "input_tokens": 1000, "cached_tokens": 400, "output_tokens": 10},
                {
                    "share": 0.75,
                    "input_tokens": 2000,
                    "cached_tokens": 1900,
                    "cached_decode_tokens": 100,
                    "output_tokens": 20,
                },
            ],
        }
    )
    atoms = work.atoms
    assert work.arrival_rate_per_s == 3
    assert work.arrival_scv == 1
    assert work.raw is None
    assert atoms.input_tokens.tolist() == [2000, 1000]
    assert atoms.missing_tokens.tolist() == [1900, 800]
    assert atoms.uncached_tokens.tolist() == [100, 600]
    assert atoms.weight.tolist() == [0.75, 0.25]
    assert work.summary.atoms == 2
    assert work.summary.requests == 0
    assert work.source == "2 request classes"


def test_a_class_cached_whole_computes_its_last_token():
    work = built(
        {
            "rate": 1,
            "classes": [
                {"share": 1, "input_tokens": 1000, "cached_tokens": 1000, "output_tokens": 10}
            ],
        }
    )
    assert work.atoms.uncached_tokens.tolist() == [1]


def test_mixture():
    work = built({"rate": "12 req/s", "mixture": MIXTURE, "max_atoms": 800})
    assert len(work.atoms) <= 800
    assert work.summary.share_hit_95 == pytest.approx(0.75, abs=1e-6)
    assert work.summary.mean_hit_rate == pytest.approx(0.9, abs=1e-4)
    assert work.atoms.mean(work.atoms.output_tokens) == pytest.approx(250)
    assert work.summary.arrival_scv_source == "Poisson arrivals assumed"
    assert work.summary.warnings == ()


def test_mixture_of_parts():
    parts = [MIXTURE | {"share": 0.4}, MIXTURE | {"share": 0.6, "input_tokens": 500}]
    work = built({"rate": 1, "mixture": parts})
    # The truncation at 100 tokens takes a 10-billionth; log-normal mean: exp(mu + sigma^2 / 2).
    mean = 0.4 * 20000 * np.exp(0.32) + 0.6 * 500
    assert work.atoms.mean(work.atoms.input_tokens) == pytest.approx(mean, rel=1e-3)


def test_every_distribution_of_the_schema():
    work = built(
        {
            "rate": 1,
            "mixture": {
                "input_tokens": {
                    "distribution": "histogram",
                    "bins": [
                        {"min": 100, "max": 200, "share": 0.5},
                        {"min": 400, "max": 400, "share": 0.5},
                    ],
                },
                "hit_rate": {"distribution": "range", "min": 0.2, "max": 0.8, "mean": 0.4},
                "output_tokens": 7,
            },
        }
    )
    assert work.atoms.mean(work.atoms.input_tokens) == pytest.approx(0.5 * 150 + 0.5 * 400)
    assert work.summary.mean_hit_rate == pytest.approx(0.4, abs=1e-6)


def test_few_atoms_are_warned_about():
    work = built({"rate": 1, "mixture": MIXTURE, "max_atoms": 10})
    assert "raise max_atoms" in work.summary.warnings[0]


def test_trace_with_its_own_rate(tmp_path):
    write_trace(tmp_path)
    work = built({"trace": {"path": "trace.csv", "format": "csv"}}, tmp_path)
    assert work.arrival_rate_per_s == pytest.approx(2, rel=0.08)
    assert work.summary.trace_rate_per_s == work.arrival_rate_per_s
    assert work.arrival_scv == pytest.approx(1, abs=0.35)
    assert "windows of 10 s, the longest limit on TTFT" in work.summary.arrival_scv_source
    assert work.summary.requests == len(work.raw) == 3000
    assert compression_error(trace_atoms(work.raw), work.atoms).worst_mean < 1e-3
    assert work.summary.provenance[1] == "cached tokens as the trace records them"


def test_rate_rescales_a_trace_and_its_replay(tmp_path):
    write_trace(tmp_path)
    work = built({"rate": 8, "trace": {"path": "trace.csv", "format": "csv"}}, tmp_path)
    assert work.arrival_rate_per_s == 8
    assert (len(work.raw) - 1) / work.raw.span_s == pytest.approx(8)
    assert work.summary.trace_rate_per_s == pytest.approx(2, rel=0.08)


def test_burstiness_given_or_without_a_time_scale(tmp_path):
    write_trace(tmp_path)
    trace = {"path": "trace.csv", "format": "csv"}
    given = built({"arrival_scv": 2.5, "trace": trace}, tmp_path)
    assert (given.arrival_scv, given.summary.arrival_scv_source) == (2.5, "scenario")
    unknown = built({"trace": trace}, tmp_path, slo={"tpot_mean": "50 ms"})
    assert unknown.arrival_scv == 1
    assert "no limit on TTFT" in unknown.summary.arrival_scv_source
    longer = built({"trace": trace}, tmp_path, slo={"ttft_p90": "2000 s"})
    assert "shorter than two windows" in longer.summary.arrival_scv_source


def test_hit_rates_for_a_trace_that_has_none(tmp_path):
    write_trace(tmp_path, cached=False)
    trace = {"path": "trace.csv", "format": "csv", "hit_rate": MIXTURE["hit_rate"]}
    work = built({"trace": trace}, tmp_path)
    assert work.summary.mean_hit_rate == pytest.approx(0.9, abs=2e-3)
    assert work.summary.share_hit_95 == pytest.approx(0.75, abs=1e-3)
    # The replay draws the same hit rates, one a request.
    drawn = work.raw.cached_tokens / work.raw.input_tokens
    assert drawn.mean() == pytest.approx(0.9, abs=1e-3)
    # Whole tokens: a hit rate just above 95 % may fall a token short.
    assert np.mean(drawn >= 0.95 - 1 / 1000) == pytest.approx(0.75, abs=0.01)
    lengths = work.atoms.mean(work.atoms.input_tokens)
    assert lengths == pytest.approx(work.raw.input_tokens.mean(), rel=1e-9)


def test_atoms_table(tmp_path):
    (tmp_path / "table.csv").write_text(
        "# counted by hand\ninput_tokens,cached_prefill_tokens,cached_decode_tokens,output_tokens,"
        "weight\n100,50,40,10,3\n200,200,200,20,1\n"
    )
    trace = {"path": "table.csv", "format": "atoms"}
    work = built({"rate": 2, "trace": trace}, tmp_path)
    assert work.atoms.weight.tolist() == [0.75, 0.25]
    assert work.summary.provenance == ("atoms table table.csv", "counted by hand")
    assert "cached whole" in work.summary.warnings[0]


def test_goodput_needs_no_rate():
    work = built({"mixture": MIXTURE}, objective="goodput")
    assert work.arrival_rate_per_s == 0


SESSIONS = (
    '{"s": 1, "t": 0, "in": 640, "out": 5, "runs": [1, 10]}\n'
    '{"s": 1, "t": 9, "in": 700, "out": 5, "runs": [1, 11]}\n'
)


@pytest.mark.parametrize(
    ("workload", "path", "message", "mend"),
    [
        (
            {"trace": {"path": "sessions", "format": "claude_code"}},
            "workload.rate",
            "claude_code records no arrival times",
            "rate",
        ),
        (
            {"trace": {"path": "bare.csv", "format": "csv"}},
            "workload.trace.hit_rate",
            "does not record cached prefixes",
            "distribution: skew",
        ),
        (
            {"trace": {"path": "trace.csv", "format": "csv", "hit_rate": 0.5}},
            "workload.trace.hit_rate",
            "cached prefixes of its own",
            "remove hit_rate",
        ),
        (
            {"rate": 1, "trace": {"path": "table.csv", "format": "atoms", "hit_rate": 0.5}},
            "workload.trace.hit_rate",
            "has its own hits",
            "remove hit_rate",
        ),
        (
            {"trace": {"path": "once.csv", "format": "csv"}},
            "workload.trace",
            "no arrival rate of its own",
            "rate: 10 req/s",
        ),
    ],
)
def test_workloads_that_cannot_be(tmp_path, workload, path, message, mend):
    (tmp_path / "sessions").write_text(SESSIONS)
    (tmp_path / "bare.csv").write_text("arrival_s,input_tokens,output_tokens\n0,5,5\n1,6,6\n")
    (tmp_path / "once.csv").write_text(CSV + "0,5,2,5\n")
    (tmp_path / "table.csv").write_text(
        "input_tokens,cached_prefill_tokens,cached_decode_tokens,output_tokens,weight\n9,1,1,1,1\n"
    )
    write_trace(tmp_path, 20)
    try:
        built(workload, tmp_path)
    except InputError as error:
        caught = error
    else:
        pytest.fail("no error")
    text = " ".join(issue.message + " " + issue.path for issue in caught.issues)
    assert path in text
    assert message in caught.issues[0].message
    assert mend in caught.issues[0].help


def test_bad_rows_name_the_trace(tmp_path):
    (tmp_path / "trace.csv").write_text(CSV + "0,5,9,5\n")
    with pytest.raises(InputError) as caught:
        built({"trace": {"path": "trace.csv", "format": "csv"}}, tmp_path)
    issue = caught.value.issues[0]
    assert issue.file == str(tmp_path / "trace.csv")
    assert issue.line == 2


def test_mooncake_conversation(data_dir):
    path = str(data_dir / "traces" / "mooncake_fast25_conversation.jsonl.gz")
    work = built({"trace": {"path": path, "format": "mooncake"}})
    # Independent counts of the README: 12,031 rows in 3,537 s, 0.409 by request, 36.6 % of blocks.
    assert work.summary.requests == 12031
    assert work.arrival_rate_per_s == pytest.approx(12031 / 3537, rel=2e-3)
    assert round(work.summary.mean_hit_rate, 3) == 0.409
    assert round(work.summary.blocks_reused_share, 3) == 0.366


def test_claude_code_sessions(data_dir):
    path = str(data_dir / "traces" / "claude_code_weka_rle.jsonl.gz")
    work = built({"rate": 20, "trace": {"path": path, "format": "claude_code"}})
    assert round(work.summary.share_hit_95, 3) == 0.886
    assert round(work.summary.mean_hit_rate, 3) == 0.951
    assert (len(work.raw) - 1) / work.raw.span_s == pytest.approx(20, rel=0.01)
    assert len(work.atoms) == 1000


def test_azure_code_trace(data_dir):
    path = str(data_dir / "traces" / "azure_llm_2023_code.csv.gz")
    trace = {"path": path, "format": "azure", "hit_rate": 0.3}
    work = built({"trace": trace})
    assert work.summary.token_hit_rate == pytest.approx(0.3, abs=1e-3)
    # Far from Poisson over ten seconds, as published: it is a burst of code completion calls.
    assert work.arrival_scv > 10


@pytest.mark.parametrize("path", sorted((REPOSITORY / "scenarios").glob("*.yaml")), ids=str)
def test_shipped_scenarios_have_a_workload(path):
    found = load_question(path)
    for scenario in found.scenarios.values() if isinstance(found, SharedScenario) else [found]:
        work = build_workload(scenario)
        assert work.atoms.weight.sum() == pytest.approx(1)
        assert work.arrival_rate_per_s > 0 or scenario.objective == "goodput"
        assert not [line for line in work.summary.warnings if "max_atoms" in line]


@pytest.mark.parametrize("trace", [True, False])
def test_at_another_rate_it_is_the_workload_built_at_that_rate(tmp_path, trace):
    write_trace(tmp_path)
    requests = {"trace": {"path": "trace.csv", "format": "csv"}} if trace else {"mixture": MIXTURE}
    data = [BASE | {"workload": {"rate": rate, "max_atoms": 60, **requests}} for rate in (2, 7)]
    slow, fast = (scenario_from_data(one, file=str(tmp_path / "s.yaml")) for one in data)
    moved, wanted = at_rate(build_workload(slow), fast), build_workload(fast)
    assert moved.arrival_rate_per_s == wanted.arrival_rate_per_s
    assert moved.arrival_scv == pytest.approx(wanted.arrival_scv, rel=1e-9)
    assert np.array_equal(moved.atoms.weight, wanted.atoms.weight)
    assert np.array_equal(moved.atoms.input_tokens, wanted.atoms.input_tokens)
