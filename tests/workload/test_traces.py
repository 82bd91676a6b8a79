"""Readers: every format, compressed or not, and every way to get a trace wrong."""

import gzip
import json
import time

import numpy as np
import pytest
import zstandard

from pdd_plan.errors import InputError
from pdd_plan.workload import read_trace
from pdd_plan.workload.traces import detect_format

CSV = """arrival_s,input_tokens,cached_tokens,output_tokens
0.0,100,40,10
1.5,200,0,20
2.5,300,299,1
"""
JSONL = "\n".join(
    json.dumps({"arrival_s": a, "input_tokens": i, "cached_tokens": c, "output_tokens": o})
    for a, i, c, o in ((0.0, 100, 40, 10), (1.5, 200, 0, 20), (2.5, 300, 299, 1))
)
AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,4808,10
2023-11-16 18:17:05.4799600,3180,8
"""
MOONCAKE = "\n".join(
    json.dumps({"timestamp": t, "input_length": i, "output_length": o, "hash_ids": h})
    for t, i, o, h in (
        (0, 1000, 5, [0, 1]),
        (0, 1200, 6, [0, 1, 2]),
        (3000, 512, 7, [0]),
        (3000, 600, 8, [5, 6]),
    )
)
CLAUDE = "\n".join(
    json.dumps({"s": s, "a": 0, "t": t, "in": i, "out": o, "runs": r})
    for s, t, i, o, r in (
        (1, 0.0, 640, 5, [1, 10]),
        (1, 9.0, 700, 6, [1, 10, 11, 1]),
        (2, 0.0, 640, 7, [1, 10]),
    )
)


def write(tmp_path, text, name="trace.txt"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv(tmp_path):
    trace = read_trace(write(tmp_path, CSV), "csv")
    assert trace.arrival_s.tolist() == [0, 1.5, 2.5]
    assert trace.input_tokens.tolist() == [100, 200, 300]
    assert trace.cached_tokens.tolist() == [40, 0, 299]
    assert trace.output_tokens.tolist() == [10, 20, 1]
    assert trace.span_s == 2.5
    assert (trace.format, trace.notes) == ("csv", ())


def test_jsonl_reads_as_csv(tmp_path):
    one = read_trace(write(tmp_path, JSONL), "jsonl")
    two = read_trace(write(tmp_path, CSV, "b"), "csv")
    for name in ("arrival_s", "input_tokens", "cached_tokens", "output_tokens"):
        assert getattr(one, name).tolist() == getattr(two, name).tolist()


@pytest.mark.parametrize("pack", [gzip.compress, lambda d: zstandard.compress(d), bytes])
def test_compressed_files_are_told_by_content_not_by_name(tmp_path, pack):
    path = tmp_path / "trace.csv"
    path.write_bytes(pack(CSV.encode()))
    assert len(read_trace(path)) == 3


def test_zstd_of_several_frames(tmp_path):
    path = tmp_path / "trace.zst"
    half = CSV.index("1.5")
    path.write_bytes(
        zstandard.compress(CSV[:half].encode()) + zstandard.compress(CSV[half:].encode())
    )
    assert len(read_trace(path)) == 3


def test_windows_line_ends_byte_order_mark_comments_and_blank_lines(tmp_path):
    text = "\ufeff# made by hand\r\n" + CSV.replace("\n", "\r\n") + "\r\n"
    assert len(read_trace(write(tmp_path, text), "csv")) == 3


def test_columns_in_any_order_with_others_beside(tmp_path):
    text = "output_tokens,model,arrival_s,input_tokens\n5,x,0,50\n6,y,1,60\n"
    trace = read_trace(write(tmp_path, text), "csv")
    assert trace.input_tokens.tolist() == [50, 60]
    assert trace.cached_tokens is None


def test_azure_has_no_prefixes(tmp_path):
    trace = read_trace(write(tmp_path, AZURE), "azure")
    assert trace.cached_tokens is None
    assert trace.arrival_s.tolist() == [0, 1.5]


def test_azure_with_offset_as_published_later(tmp_path):
    text = AZURE.replace("600,", "600+00:00,")
    assert read_trace(write(tmp_path, text), "azure").arrival_s.tolist() == [0, 1.5]


def test_mooncake_counts_prefixes_and_spreads_stamps(tmp_path):
    trace = read_trace(write(tmp_path, MOONCAKE), "mooncake", seed=1)
    # [0, 1] then [0, 1, 2]: two blocks; [0]: whole prompt, so one token less; [5, 6]: none.
    assert trace.cached_tokens.tolist() == [0, 1024, 511, 0]
    assert trace.reused_block_share == 3 / 8
    assert trace.stamp_step_s == 3.0
    gaps = np.diff(trace.arrival_s)
    assert np.all(gaps >= 0)
    assert np.all(np.floor(trace.arrival_s / 3) == [0, 0, 1, 1])
    assert "steps of 3 s" in trace.notes[0]
    again = read_trace(write(tmp_path, MOONCAKE), "mooncake", seed=1)
    assert again.arrival_s.tolist() == trace.arrival_s.tolist()


def test_claude_code_reuses_inside_the_session_only(tmp_path):
    trace = read_trace(write(tmp_path, CLAUDE), "claude_code")
    rows = zip(trace.session, trace.input_tokens, trace.cached_tokens, strict=True)
    assert sorted(rows) == [(1, 640, 0), (1, 700, 640), (2, 640, 0)]
    assert "not published" in trace.notes[0]


def test_rows_out_of_order_are_sorted_and_told(tmp_path):
    head, *rows = CSV.strip().split("\n")
    trace = read_trace(write(tmp_path, "\n".join([head, *rows[::-1]])), "csv")
    assert trace.input_tokens.tolist() == [100, 200, 300]
    assert trace.cached_tokens.tolist() == [40, 0, 299]
    assert "rows were sorted" in trace.notes[0]


def test_prompts_cached_whole_leave_a_token_and_are_told(tmp_path):
    trace = read_trace(write(tmp_path, CSV.replace("299", "300")), "csv")
    assert trace.cached_tokens.tolist() == [40, 0, 299]
    assert trace.notes == (
        "1 prompts were cached whole: their last token is computed all the same",
    )


def test_requests_that_generate_nothing_count_as_one_token_and_are_told(tmp_path):
    trace = read_trace(write(tmp_path, CSV.replace("0,20", "0,0")), "csv")
    assert trace.output_tokens.tolist() == [10, 1, 1]
    assert "1 requests generated nothing" in trace.notes[0]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (CSV, "csv"),
        (JSONL, "jsonl"),
        (AZURE, "azure"),
        (MOONCAKE, "mooncake"),
        (CLAUDE, "claude_code"),
        ("input_tokens,cached_prefill_tokens,weight\n", "atoms"),
    ],
)
def test_the_format_is_found(text, kind):
    assert detect_format(text) == kind


HEAD = "arrival_s,input_tokens,cached_tokens,output_tokens\n"
WRONG = [
    # format, text, line, words of the message, words of the help
    ("csv", "", 0, "is empty", "file with rows"),
    ("csv", "  \n\n", 0, "is empty", ""),
    ("csv", "# only a remark\n", 0, "no header", ""),
    ("csv", HEAD, 0, "no requests", "add rows"),
    (
        "csv",
        "arrival,input_tokens,output_tokens\n0,1,1\n",
        1,
        "arrival_s is missing",
        "rename arrival to",
    ),
    ("csv", "arrival_s,output_tokens\n0,1\n", 1, "input_tokens is missing", ""),
    ("csv", "arrival_s,arrival_s,input_tokens,output_tokens\n0,0,1,1\n", 1, "appears twice", ""),
    ("csv", "a;b;c\n1;2;3\n", 1, "arrival_s is missing", "found are a;b;c"),
    ("csv", HEAD + "0,100,0,10\n1,100,0\n", 3, "3 cells, the header names 4", ""),
    ("csv", HEAD + "0,100,0,10\n\n1,abc,0,10\n", 4, "input_tokens = 'abc'", ""),
    ("csv", HEAD + "0,100,,10\n", 2, "cached_tokens = ''", ""),
    ("csv", HEAD + "0,nan,0,10\n", 2, "input_tokens = 'nan' is not a finite", ""),
    ("csv", HEAD + "inf,100,0,10\n", 2, "arrival_s = 'inf' is not a finite", ""),
    ("csv", HEAD + "0,-5,0,10\n", 2, "input tokens = -5 is below 1", "at least 1"),
    ("csv", HEAD + "0,0,0,10\n", 2, "input tokens = 0 is below 1", ""),
    ("csv", HEAD + "0,100,0,-1\n", 2, "output tokens = -1 is below 0", ""),
    ("csv", HEAD + "-1,100,0,10\n", 2, "arrival_s = -1 is below 0", ""),
    ("csv", HEAD + "0,100,-2,10\n", 2, "cached_tokens = -2 is below 0", ""),
    (
        "csv",
        HEAD + "0,100,101,10\n",
        2,
        "cached_tokens = 101 exceeds input_tokens = 100",
        "part of",
    ),
    ("jsonl", "[1, 2]\n", 1, "not a JSON object but list", ""),
    ("jsonl", JSONL + "\n{oops\n", 4, "not a JSON object", "one JSON object a line"),
    (
        "jsonl",
        '{"arrival": 0, "input_tokens": 5, "output_tokens": 1}',
        1,
        "arrival_s is missing",
        "rename",
    ),
    ("jsonl", JSONL + '\n{"arrival_s": 3, "input_tokens": 5}', 4, "output_tokens is missing", ""),
    ("jsonl", JSONL.replace("100", "true", 1), 1, "input_tokens = True", ""),
    ("jsonl", JSONL.replace("100", "null", 1), 1, "input_tokens = None", ""),
    ("jsonl", JSONL.replace("100", '"x"', 1), 1, "input_tokens = 'x'", ""),
    ("jsonl", JSONL.replace('"cached_tokens": 0, ', ""), 2, "cached_tokens is missing", ""),
    (
        "azure",
        AZURE.replace("ContextTokens", "Context"),
        1,
        "ContextTokens is missing",
        "rename Context",
    ),
    ("azure", AZURE + "yesterday,5,5\n", 4, "TIMESTAMP = 'yesterday' is not a time", "2023-11-16"),
    ("azure", AZURE + "2023-11-16 18:18:00,0,5\n", 4, "input tokens = 0", ""),
    (
        "mooncake",
        MOONCAKE.replace("hash_ids", "hash_id"),
        1,
        "hash_ids is missing",
        "rename hash_id",
    ),
    ("mooncake", MOONCAKE.replace("[0, 1, 2]", '"0, 1"'), 2, "is not a list", ""),
    ("mooncake", MOONCAKE.replace("[0, 1, 2]", "[0, 1.5]"), 2, "other than whole numbers", ""),
    ("mooncake", MOONCAKE.replace("[0, 1, 2]", '[0, "b"]'), 2, "other than whole numbers", ""),
    ("mooncake", MOONCAKE.replace("[0, 1, 2]", "[0, [1]]"), 2, "other than whole numbers", ""),
    ("mooncake", MOONCAKE.replace("[0, 1, 2]", "[0, 1, 2, 3]"), 2, "4 blocks of 512 for 1200", ""),
    ("mooncake", MOONCAKE.replace("1200", "-1200"), 2, "input tokens = -1200", ""),
    ("mooncake", MOONCAKE.replace("3000", "-3000", 1), 3, "timestamp = -3000", ""),
    ("claude_code", CLAUDE.replace("[1, 10, 11, 1]", "[1, 10, 11]"), 2, "3 numbers, not pairs", ""),
    ("claude_code", CLAUDE.replace("[1, 10, 11, 1]", "[1, 10, 11, 0]"), 2, "count below 1", ""),
    ("claude_code", CLAUDE.replace('"s": 2', '"s": "two"'), 3, "s = 'two' is not a finite", ""),
    ("claude_code", CLAUDE.replace("9.0", "-9.0"), 2, "t = -9 is below 0", ""),
    ("claude_code", "{}", 1, "s is missing", ""),
    (None, "hello world\n", 1, "format of the trace is not known", "mooncake, azure"),
    (None, "{broken\n", 1, "format of the trace is not known", ""),
    ("atoms", CSV, 0, "no requests to read one by one", "format: atoms"),
]


@pytest.mark.parametrize(("kind", "text", "line", "message", "mend"), WRONG)
def test_wrong_traces(tmp_path, kind, text, line, message, mend):
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_trace(path, kind)
    issue = caught.value.issues[0]
    assert message in issue.message
    assert mend in issue.help
    assert (issue.file, issue.line) == (str(path), line)


def test_the_first_bad_rows_are_named_and_the_rest_counted(tmp_path):
    rows = "".join(f"{k},-1,0,5\n" for k in range(50))
    with pytest.raises(InputError) as caught:
        read_trace(write(tmp_path, HEAD + "0,5,0,5\n" + rows), "csv")
    issues = caught.value.issues
    assert [issue.line for issue in issues[:-1]] == list(range(3, 11))
    assert issues[-1].message == "42 more bad rows in this file"


def test_bad_rows_of_several_kinds_come_in_file_order(tmp_path):
    text = HEAD + "0,100,200,5\n1,x,0,5\n2,100,0\n3,-1,0,5\n"
    with pytest.raises(InputError) as caught:
        read_trace(write(tmp_path, text), "csv")
    lines = [issue.line for issue in caught.value.issues]
    assert lines == sorted(lines)
    assert set(lines) == {2, 3, 4, 5}


def test_a_missing_file_names_the_nearest(tmp_path):
    write(tmp_path, CSV, "trace.csv")
    with pytest.raises(InputError, match="does not exist") as caught:
        read_trace(tmp_path / "trase.csv")
    assert "trace.csv" in caught.value.issues[0].help


def test_a_folder_is_no_trace(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        read_trace(tmp_path)


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(CSV.encode())[:-12],
        b"\x1f\x8b" + b"junk" * 9,
        zstandard.compress(CSV.encode())[:10],
        b"\x28\xb5\x2f\xfd" + b"junk" * 9,
    ],
    ids=["gzip cut", "gzip junk", "zstd cut", "zstd junk"],  # gzip holds the time: no id
)
def test_damaged_archives(tmp_path, data):
    path = tmp_path / "trace.csv"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"cannot unpack|is empty") as caught:
        read_trace(path, "csv")
    assert caught.value.issues[0].file == str(path)


def test_binary_files(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_bytes(CSV.encode() + b"\xff\xfe\n")
    with pytest.raises(InputError, match="not UTF-8") as caught:
        read_trace(path, "csv")
    assert caught.value.issues[0].line == 5


def test_azure_code_trace(data_dir):
    trace = read_trace(data_dir / "traces" / "azure_llm_2023_code.csv.gz")
    assert len(trace) == 8819
    # Published: 57 minutes.
    assert round(trace.span_s / 60) == 57


@pytest.mark.parametrize(
    ("name", "limit_s"),
    [
        ("mooncake_fast25_conversation.jsonl.gz", 0.5),
        pytest.param("claude_code_weka_rle.jsonl.gz", 2.0, marks=pytest.mark.long),
    ],
)
def test_real_traces_are_read_fast(data_dir, name, limit_s):
    start = time.process_time()
    read_trace(data_dir / "traces" / name)
    assert time.process_time() - start < 1.5 * limit_s
