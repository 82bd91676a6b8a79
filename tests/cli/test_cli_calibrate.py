"""``calibrate``: a profile that scenarios read, its report in every form, wrong tables."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from pdd_plan.cli.main import app
from pdd_plan.roofline import Efficiencies
from tests.roofline.llama_roofline import Roofline

SMALL = Path(__file__).with_name("small.yaml")
TRUTH = Roofline()
KEEP = "--keep=collective,link"


def table() -> str:
    """Points of the independent roofline: bf16 on one H100."""
    rng = np.random.default_rng(1)
    rows = ["phase,framework,chip,tp,input_tokens,batch,ttft_ms,tpot_ms"]
    for length in (250, 1000, 4000, 16000, 60000):
        time = 1e3 * TRUTH.prefill_s(length) * np.exp(0.04 * rng.standard_normal())
        rows.append(f"prefill,vllm,h100,1,{length},,{time:.2f},")
    for batch in (1, 8, 32, 128, 400):
        for context in (500, 4000):
            time = 1e3 * TRUTH.step_s(batch, context) * np.exp(0.02 * rng.standard_normal())
            rows.append(f"decode,vllm,h100,1,{context},{batch},,{time:.3f}")
    return "\n".join(rows) + "\n"


@pytest.fixture
def scenario(folder):
    """A scenario with h100 and h20, in the formats of the points, and the points."""
    text = SMALL.read_text(encoding="utf-8").replace("weights: fp8", "weights: bf16")
    (folder / "small.yaml").write_text(text, encoding="utf-8")
    (folder / "points.csv").write_text(table(), encoding="utf-8")
    return "small.yaml"


def test_a_profile_that_the_scenario_reads(run, scenario, folder):
    result = run("calibrate", scenario, "points.csv")
    assert result.exit_code == 0, result.output
    assert "efficiencies: {file: h100-llama-3.1-8b-vllm.yaml}" in result.stdout
    assert "sites.a.chips.h100" in result.stdout
    assert "serving.framework: vllm" in result.stdout
    assert "wrote h100-llama-3.1-8b-vllm.yaml" in result.stderr
    profile = folder / "h100-llama-3.1-8b-vllm.yaml"
    found = Efficiencies.from_file(profile)
    for name in ("compute", "memory", "kernel_s", "request_step_s"):
        low, high = found.ranges[name]
        assert low <= getattr(found, name) <= high
        assert getattr(found, name) == pytest.approx(getattr(TRUTH, name), rel=0.15)
    said = profile.read_text(encoding="utf-8")
    assert "15 points of points.csv (SHA-256" in said
    text = (folder / scenario).read_text(encoding="utf-8")
    chip = "{available: 8, price: 3 USD/h}"
    assert chip in text
    line = "efficiencies: {file: h100-llama-3.1-8b-vllm.yaml}"
    text = text.replace(chip, "{available: 8, price: 3 USD/h, " + line + "}")
    (folder / "with.yaml").write_text(text + "serving: {framework: vllm}\n", encoding="utf-8")
    plan = json.loads(run("optimize", "with.yaml", "-f", "json", "-q").stdout)
    source = next(a["source"] for a in plan["assumptions"] if "efficiencies.file" in a["path"])
    assert source.startswith("calibrated on 15 points of points.csv")


def test_only_the_calibrated_chip_changes(run, scenario, folder):
    """With impossible slowness in the profile of h100, the h20 pools keep their times."""
    (folder / "slow.yaml").write_text("memory: 0.05\n", encoding="utf-8")
    path = "sites.b.chips.h20.efficiencies={file: slow.yaml}"
    before = json.loads(run("optimize", scenario, "-f", "json", "-q").stdout)
    after = json.loads(run("optimize", scenario, "-f", "json", "-q", "--set", path).stdout)
    assert before["status"] == "optimal"
    assert after != before


def test_errors_in_the_report_are_those_of_the_points(run, scenario):
    found = json.loads(run("calibrate", scenario, "points.csv", "-f", "json").stdout)
    assert found["calibration"]["points"] == 15
    assert found["kept"] == []
    tpot = [abs(row["off"]) for row in found["points"] if row["measure"] == "step"]
    assert found["errors"]["median_tpot_fitted"] == pytest.approx(np.median(tpot))
    assert found["errors"]["median_tpot_fitted"] < 0.03 < found["errors"]["median_tpot_default"]
    first = found["points"][0]
    assert first["line"] == 2
    assert first["fitted_s"] / first["measured_s"] - 1 == pytest.approx(first["off"])
    values = {row["parameter"]: row for row in found["parameters"]}
    assert values["memory"]["low"] < TRUTH.memory < values["memory"]["high"]


def test_every_form(run, scenario, folder):
    out = folder / "out"
    out.mkdir()
    assert run("calibrate", scenario, "points.csv", "-o", "out").exit_code == 0
    names = {path.name for path in out.iterdir()}
    assert {"calibration.json", "calibration.md", "calibration.html"} <= names
    assert {"summary.csv", "parameters.csv", "kept.csv", "points.csv"} <= names
    rows = list(csv.DictReader(io.StringIO((out / "points.csv").read_text(encoding="utf-8"))))
    assert len(rows) == 15
    page = (out / "calibration.html").read_text(encoding="utf-8")
    assert page.count("<circle") == 15
    assert "chart-residuals" in page
    assert "| 16 |" in (out / "calibration.md").read_text(encoding="utf-8")


def test_chinese_and_80_columns(run, scenario):
    chinese = run("calibrate", scenario, "points.csv", "--lang", "zh").stdout
    assert "显存带宽占比" in chinese
    assert "efficiencies: {file: " in chinese
    english = run("calibrate", scenario, "points.csv").stdout
    assert max(map(len, english.splitlines())) <= 80


def test_a_refusal_names_reason_measurement_and_flag(run, scenario, folder):
    rows = table().splitlines()
    few = [rows[0], *rows[3:6], *(r for r in rows if ",4000,8," in r)]
    few += [few[-1][:-1] + str(digit) for digit in (1, 2, 3)]
    (folder / "few.csv").write_text("\n".join(dict.fromkeys(few)), encoding="utf-8")
    result = run("calibrate", scenario, "few.csv")
    assert result.exit_code == 2
    assert "the points cannot tell kernel: " in result.stderr
    assert "all points have batch 8" in result.stderr
    assert "measure a decode step at batch 1 beside one at batch 64" in result.stderr
    assert "--keep kernel" in result.stderr
    assert not list(folder.glob("h100*.yaml"))
    every = result.stderr.rpartition("all of these: --keep ")[2].split()[0]
    result = run("calibrate", scenario, "few.csv", "--keep", every)
    assert result.exit_code == 0, result.output
    assert "Kept at the default:" in result.stdout
    profile = (folder / "h100-llama-3.1-8b-vllm.yaml").read_text(encoding="utf-8")
    assert "# default, kept" in profile
    assert "kernel_s: 4.34e-06" in profile


def test_a_parameter_may_be_kept_though_the_points_tell_it(run, scenario):
    found = run("calibrate", scenario, "points.csv", "--keep", "request_step", "-f", "json")
    assert json.loads(found.stdout)["kept"][0]["reason"] is None
    result = run("calibrate", scenario, "points.csv", "--keep", "requst_step")
    assert result.exit_code == 2
    assert "did you mean request_step?" in result.stderr
    every = "compute,memory,kernel,request_step"
    result = run("calibrate", scenario, "points.csv", "--keep", every)
    assert "nothing is left to fit" in result.stderr


def test_the_template_is_a_table_that_is_read(run, folder):
    from pdd_plan.fleet.measurements import read_measurements

    (folder / "points.csv").write_text(run("calibrate", "--template").stdout, encoding="utf-8")
    points = read_measurements("points.csv").points
    assert [point.phase for point in points] == ["prefill", "decode", "decode", "serving"]
    assert points[0].ttft_s == pytest.approx(0.21)
    assert points[3].requests == 160


def test_a_file_that_is_no_profile_is_kept(run, scenario, folder):
    result = run("calibrate", scenario, "points.csv", "--profile", "small.yaml")
    assert result.exit_code == 2
    assert "no profile of a calibration" in result.stderr
    assert "llama-3.1-8b" in (folder / scenario).read_text(encoding="utf-8")
    for _ in range(2):  # a profile may be made anew
        assert run("calibrate", scenario, "points.csv", "--profile", "mine.yaml").exit_code == 0


def test_the_profile_is_named_from_the_scenario(run, folder, scenario):
    (folder / "plans").mkdir()
    (folder / scenario).rename(folder / "plans" / "small.yaml")
    result = run("calibrate", "plans/small.yaml", "points.csv", "--profile", "fit.yaml")
    assert "efficiencies: {file: ../fit.yaml}" in result.stdout


def test_names_that_yaml_would_misread(run, scenario, folder):
    result = run("calibrate", scenario, "points.csv", "--profile", "my fit, new: #1.yaml")
    line = next(row for row in result.stdout.splitlines() if "efficiencies: {" in row)
    found = yaml.safe_load(line[line.index("efficiencies:") :])
    assert found == {"efficiencies": {"file": "my fit, new: #1.yaml"}}
    text = (folder / scenario).read_text(encoding="utf-8").replace("h100", "h100 new")
    text = text.replace("{available: 8, price: 3", "{profile: h100, available: 8, price: 3")
    (folder / "spaces.yaml").write_text(text, encoding="utf-8")
    (folder / "points.csv").write_text(table().replace("h100", "h100 new"), encoding="utf-8")
    assert run("calibrate", "spaces.yaml", "points.csv").exit_code == 0
    assert (folder / "h100-new-llama-3.1-8b-vllm.yaml").exists()


HEADER = "phase,framework,chip,tp,input_tokens,batch,ttft_ms,tpot_ms\n"
GOOD = "decode,vllm,h100,1,500,8,,9.1\n"
WRONG = {
    "empty": ("", "is empty"),
    "blank": ("\n \n", "is empty"),
    "remarks only": ("# nothing\n", "has no header line"),
    "header only": (HEADER, "holds no points"),
    "semicolons": (HEADER.replace(",", ";") + GOOD.replace(",", ";"), "separated by semicolons"),
    "tabs": (HEADER.replace(",", "\t"), "separated by tabs"),
    "no measurement": ("phase,input_tokens\nprefill,10\n", "no column with a measured time"),
    "a slip in a name": (HEADER.replace("input_tokens", "inputs_tokens") + GOOD,
                         "did you mean input_tokens?"),
    "a name twice": (HEADER.replace("tp,", "ttft_s,") + GOOD, "ttft appears twice"),
    "no unit": (HEADER.replace("tpot_ms", "tpot") + GOOD, "column tpot has no unit"),
    "a unit of another kind": (HEADER.replace("tpot_ms", "tpot") + GOOD.replace("9.1", "9 GB"),
                               "not a time"),
    "text": (HEADER + GOOD.replace("9.1", "fast"), "not a time"),
    "decimal comma": (HEADER + GOOD.replace("9.1", '"9,1"'), "separator inside the number"),
    "negative time": (HEADER + GOOD.replace("9.1", "-9.1"), "must be above 0"),
    "zero time": (HEADER + GOOD.replace("9.1", "0"), "must be above 0"),
    "infinite time": (HEADER + GOOD.replace("9.1", "inf"), "not a finite number"),
    "no number": (HEADER + GOOD.replace("9.1", "nan"), "not a finite number"),
    "infinite batch": (HEADER + GOOD.replace(",8,", ",inf,"), "not a finite number"),
    "batch below one": (HEADER + GOOD.replace(",8,", ",0,"), "concurrency = 0 must be at least 1"),
    "negative length": (HEADER + GOOD.replace("500", "-5"), "input_tokens = -5"),
    "half a chip": (HEADER + GOOD.replace("h100,1", "h100,1.5"), "no whole number"),
    "a cell too many": (HEADER + GOOD.replace("\n", ",1\n"), "9 cells, the header names 8"),
    "phase": (HEADER + GOOD.replace("decode", "decoding"), "did you mean decode?"),
    "phase far off": (HEADER + GOOD.replace("decode", "x"), "serving, prefill, decode"),
    "no batch": (HEADER + GOOD.replace(",8,", ",,"), "a decode point needs concurrency"),
    "no time": (HEADER + GOOD.replace("9.1", ""), "a decode point needs tpot or"),
    "prefill in batches": (HEADER + "prefill,vllm,h100,1,500,8,9.1,\n", "one prompt at a time"),
    "the same row twice": (HEADER + GOOD + GOOD, "repeats line 2"),
    "chip": (HEADER + GOOD.replace("h100", "h10"), "chip h10 is not in the scenario"),
    "chips mixed": (HEADER + GOOD + GOOD.replace("h100", "h20"), "choose one: --chip h100"),
    "framework": (HEADER + GOOD.replace("vllm", "vlm"), "did you mean vllm?"),
    "no framework": (HEADER + GOOD.replace("vllm", ""), "names no framework"),
    "frameworks mixed": (HEADER + GOOD + GOOD.replace("vllm", "sglang"), "several frameworks"),
    "model": (HEADER.replace("\n", ",model\n") + GOOD.replace("\n", ",qwen3-32b\n"),
              "of model qwen3-32b, the scenario of llama-3.1-8b"),
    "faster than light": (HEADER + GOOD.replace("9.1", "0.0091"), "below what physics allows"),
    "rate against step": (HEADER.replace("\n", ",output_tokens_per_s\n")
                          + GOOD.replace("\n", ",100\n"), "is 879 tokens/s"),
    "too few": (HEADER + GOOD, "1 measured point is too few"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG, ids=str)
def test_wrong_tables(run, scenario, folder, case):
    text, said = WRONG[case]
    (folder / "wrong.csv").write_text(text, encoding="utf-8")
    result = run("calibrate", scenario, "wrong.csv", "-o", "out.md")
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert "wrong.csv" in result.stderr
    assert "Traceback" not in result.output
    assert not list(folder.glob("h100*.yaml"))
    assert not (folder / "out.md").exists()


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_other_encodings_are_refused(run, scenario, folder, encoding):
    (folder / "points.csv").write_text("# µ\n" + table(), encoding=encoding)
    result = run("calibrate", scenario, "points.csv")
    assert result.exit_code == 2
    assert "not UTF-8" in result.stderr


def test_wrong_files_and_options(run, scenario, folder):
    assert "there is no table of measurements" in run("calibrate", scenario, "no.csv").stderr
    result = run("calibrate", scenario, "points.csv", "--chip", "h20")
    assert "no point is of chip h20" in result.stderr
    result = run("calibrate", scenario, "points.csv", "--profile", "no/where.yaml")
    assert "there is no folder" in result.stderr
    result = run("calibrate", scenario, "points.csv", "-o", "report.pdf")
    assert "names no form" in result.stderr
    assert result.exit_code == 2
    assert not list(folder.glob("h100*.yaml"))


def test_a_relative_chip_is_refused(run, scenario):
    result = run(
        "calibrate", scenario, "points.csv",
        "--set", "sites.a.chips.h100={relative_to: h200, prefill: 1, decode: 1, memory: 80 GiB, "
        "available: 8, price: 3 USD/h}",
    )  # fmt: skip
    assert result.exit_code == 2
    assert "stated relative to h200" in result.stderr


def test_no_shape_for_the_weights(run, folder, scenario):
    text = table().replace("tp,", "tensor_parallel,")
    (folder / "points.csv").write_text(text, encoding="utf-8")
    result = run("calibrate", scenario, "points.csv", "--set", "model=deepseek-v3", "-q")
    assert result.exit_code == 2
    assert "no memory for a KV cache" in result.stderr


def test_the_shape_may_come_from_the_scenario(run, folder, scenario):
    rows = [row.split(",") for row in table().splitlines()]
    text = "\n".join(",".join([*row[:3], *row[4:]]) for row in rows)
    (folder / "points.csv").write_text(text, encoding="utf-8")
    found = run("calibrate", scenario, "points.csv", "-f", "json")
    assert {row["shape"] for row in json.loads(found.stdout)["points"]} == {"tp1"}
    result = run("calibrate", scenario, "points.csv", "--set", "engines=auto")
    assert "names no tensor_parallel" in result.stderr


def test_calibrate_is_a_command_with_completion():
    assert "calibrate" in {command.name for command in app.registered_commands}
