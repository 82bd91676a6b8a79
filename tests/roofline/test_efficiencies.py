"""Efficiencies: reading, refusing, and what ships."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pdd_plan.errors import InputError
from pdd_plan.roofline import FRAMEWORKS, Efficiencies
from pdd_plan.roofline.efficiencies import replace_from_mapping
from pdd_plan.roofline.efficiency_files import render_efficiencies


def test_a_file_changes_what_it_names(tmp_path: Path) -> None:
    file = tmp_path / "chip.yaml"
    file.write_text(
        "source: my lab\nmemory: {value: 0.7, low: 0.6, high: 0.8}\n"
        "decode_factor: {vllm: 1.4}\nkernel_s: 0.000005\n"
    )
    read = Efficiencies.from_file(file)
    default = Efficiencies.default()
    assert (read.memory, read.source, read.kernel_s) == (0.7, "my lab", 5e-6)
    assert read.ranges["memory"] == (0.6, 0.8)
    assert read.decode_factor["vllm"] == 1.4
    assert read.decode_factor["sglang"] == default.decode_factor["sglang"]
    assert read.compute == default.compute


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("memry: 0.7", 'unknown efficiency "memry"'),
        ("memory: fast", "is not a number"),
        ("memory: 1.7", r"not in \(0, 1\]"),
        ("memory: 0", r"not in \(0, 1\]"),
        ("compute: 0.9", "exceeds the peak"),
        ("- 1", "not a mapping"),
        ("a: [", "cannot read"),
    ],
)
def test_impossible_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        Efficiencies.from_file(file)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        Efficiencies.from_file(tmp_path / "none.yaml")


def test_every_wrong_key_is_named_at_once() -> None:
    with pytest.raises(InputError) as caught:
        replace_from_mapping(Efficiencies.default(), {"foo": 1, "bar": 2})
    assert len(caught.value.issues) == 2


def test_frameworks() -> None:
    default = Efficiencies.default()
    assert set(default.decode_factor) == set(default.host_s) == set(FRAMEWORKS)
    factor, host = default.for_framework("trtllm")
    assert (factor, host) == (1.0, default.host_s["trtllm"])
    middle, _ = default.for_framework(None)
    assert min(default.decode_factor.values()) <= middle <= max(default.decode_factor.values())
    with pytest.raises(InputError, match='framework "tgi" is not known'):
        default.for_framework("tgi")


def test_compute_times_its_factors_stays_below_the_peak() -> None:
    with pytest.raises(InputError, match="exceeds the peak"):
        replace(Efficiencies.default(), compute=0.8, compute_bf16=1.3)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """To three digits, with ranges; only the parameters asked for."""
    default = replace(Efficiencies.default(), source='a "lab"', date="2026-11-29")
    file = tmp_path / "all.yaml"
    file.write_text(render_efficiencies(default, header=("Two", "lines"), notes={"nic": "set"}))
    read = Efficiencies.from_file(file)
    assert read == default
    changed = replace(default, memory=0.5, ranges={"memory": (0.4, 0.6)})
    changed = replace(changed, host_s={**default.host_s, "vllm": 0.5})
    text = render_efficiencies(changed, only=("memory", "host_s.vllm"))
    file.write_text(text)
    assert "compute" not in text
    assert "trtllm" not in text
    read = Efficiencies.from_file(file)
    assert (read.memory, read.host_s["vllm"], read.compute) == (0.5, 0.5, default.compute)
    assert read.host_s["trtllm"] == default.host_s["trtllm"]
