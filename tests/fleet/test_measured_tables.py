"""Measured tables from a file: the same plan as from the scenario, and what a file lacks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pdd_plan.errors import InputError
from pdd_plan.fleet.build import build_problem
from pdd_plan.fleet.measured_tables import decode_table, prefill_table
from pdd_plan.roofline import EngineShape
from pdd_plan.scenario import scenario_from_data

SHAPE = EngineShape(4, 4, 1, 1)
POINTS = """\
phase,chip,tp,input_tokens,cached_tokens,concurrency,time_unused,prefill_time,step_time
prefill,h200,4,1000,,,,80 ms,
prefill,h200,4,8000,,,,0.5 s,
prefill,h200,4,8000,,,,0.54 s,
prefill,h200,4,8000,,,,0.52 s,
prefill,h200,8,8000,,,,0.3 s,
prefill,h200,4,8000,4000,,,0.3 s,
prefill,h20,4,8000,,,,3 s,
decode,h200,4,1000,,1,,,10 ms
decode,h200,4,8000,,1,,,12 ms
decode,h200,4,1000,,64,,,20 ms
decode,h200,4,8000,,64,,,30 ms
serving,h200,4,1000,,8,,,15 ms
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "points.csv"
    path.write_text(POINTS.replace(",time_unused", ",output_tokens").replace(
        "serving,h200,4,1000,,8,", "serving,h200,4,1000,,8,50"), encoding="utf-8")  # fmt: skip
    return path


def test_rows_of_this_engine_make_the_tables(file):
    """The median of three runs; other chips, shapes, phases and cached prompts do not count."""
    table = prefill_table(file, "h200", SHAPE)
    assert table.uncached_tokens == (1000.0, 8000.0)
    assert table.seconds == pytest.approx((0.08, 0.52))
    steps = decode_table(file, "h200", SHAPE)
    assert steps.batch == (1.0, 64.0)
    assert steps.context_tokens == (1000.0, 8000.0)
    assert np.allclose(steps.seconds, [[0.010, 0.012], [0.020, 0.030]])


def test_rates_stand_for_times(tmp_path):
    path = tmp_path / "rates.csv"
    path.write_text(
        "phase,input_tokens,batch,input_tokens_per_s,output_tokens_per_s\n"
        "prefill,8000,,16000,\ndecode,1000,64,,3200\n",
        encoding="utf-8",
    )
    assert prefill_table(path, "h200", EngineShape(4, 2, 2, 1)).seconds == (1.0,)  # two ranks
    assert decode_table(path, "h200", SHAPE).seconds == ((0.02,),)


def scenario(tables: dict) -> dict:
    return {
        "schema_version": 1,
        "model": "llama-3.1-70b",
        "precision": {"weights": "fp8", "kv_cache": "fp8"},
        "workload": {
            "rate": "2 req/s",
            "classes": [{"input_tokens": 4000, "output_tokens": 200, "share": 1}],
        },
        "slo": {"ttft_p90": "5 s"},
        "sites": {
            "here": {
                "roles": ["prefill", "decode"],
                "chips": {"h200": {"available": 32, "price": "4 USD/h"}},
            }
        },
        "engines": [{"chip": "h200", "chips": 4, **tables}],
    }


@pytest.mark.usefixtures("file")
def test_a_file_gives_the_problem_that_its_numbers_give(tmp_path):
    from_file = scenario(
        {"prefill_table": {"file": "points.csv"}, "decode_table": {"file": "points.csv"}}
    )
    written = scenario(
        {
            "prefill_table": {"tokens": [1000, 8000], "time": ["80 ms", "520 ms"]},
            "decode_table": {
                "batch": [1, 64],
                "context": [1000, 8000],
                "time": [["10 ms", "12 ms"], ["20 ms", "30 ms"]],
            },
        },
    )
    place = str(tmp_path / "fleet.yaml")
    first, second = (
        build_problem(scenario_from_data(data, file=place)).problem.pools
        for data in (from_file, written)
    )
    assert len(first) == len(second) > 0
    for one, other in zip(first, second, strict=True):
        for name in ("service_s", "step_s"):
            assert np.array_equal(getattr(one, name), getattr(other, name))


def test_the_file_counts_for_the_hash(file, tmp_path):
    data = scenario({"prefill_table": {"file": "points.csv"}})
    place = str(tmp_path / "fleet.yaml")
    before = scenario_from_data(data, file=place).source.sha256
    file.write_text(POINTS.replace("80 ms", "81 ms"), encoding="utf-8")
    assert scenario_from_data(data, file=place).source.sha256 != before


def test_no_row_of_the_engine(file):
    with pytest.raises(InputError, match="no row of phase prefill is of h100 tp4"):
        prefill_table(file, "h100", SHAPE)
    with pytest.raises(InputError, match="no row of phase decode is of h200 tp8"):
        decode_table(file, "h200", EngineShape(8, 8, 1, 1))


def test_a_table_with_a_hole(file):
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("decode,h200,4,8000,,64,,,30 ms\n", ""), encoding="utf-8")
    with pytest.raises(InputError, match="no full table: no batch 64 at 8000 tokens"):
        decode_table(file, "h200", SHAPE)


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"prefill_table": {}}, "tokens is missing, and so is file"),
        ({"prefill_table": {"file": "points.csv", "tokens": [1], "time": [1]}}, "exclude each"),
        ({"decode_table": {"batch": [1], "time": [[1]]}}, "context is missing, and so is file"),
        ({"decode_table": {"file": "point.csv"}}, "point.csv does not exist"),
    ],
)
@pytest.mark.usefixtures("file")
def test_wrong_tables_in_a_scenario(tmp_path, tables, said):
    with pytest.raises(InputError) as error:
        scenario_from_data(scenario(tables), file=str(tmp_path / "fleet.yaml"))
    issue = error.value.issues[0]
    assert said in issue.message
    assert issue.path.startswith("engines.0.")


def test_a_wrong_file_is_told_by_its_line(file, tmp_path):
    file.write_text(POINTS.replace("80 ms", "80 GB"), encoding="utf-8")
    data = scenario({"prefill_table": {"file": "points.csv"}})
    with pytest.raises(InputError) as error:
        build_problem(scenario_from_data(data, file=str(tmp_path / "fleet.yaml")))
    assert error.value.issues[0].line == 2
