"""Traces that several tests read."""

import pytest

from pdd_plan.workload import RawTrace, read_trace


@pytest.fixture(scope="session")
def claude_code(data_dir) -> RawTrace:
    return read_trace(data_dir / "traces" / "claude_code_weka_rle.jsonl.gz")


@pytest.fixture(scope="session")
def mooncake(data_dir) -> RawTrace:
    return read_trace(data_dir / "traces" / "mooncake_fast25_conversation.jsonl.gz")
