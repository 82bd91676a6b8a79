"""Model profiles against published sizes, cache tables and hand arithmetic."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest

from pdd_plan.catalog import load_model, model_from_config, model_names
from pdd_plan.errors import InputError

# Publishers' counts in billions: in all, used by a token (None where not stated). Model cards and
# reports of the publishers; Kimi-K3: technical report of July 2026; MiniMax-M3: announcement of
# June 2026, without vision part.
PUBLISHED_SIZES = {
    "deepseek-v3": (671, 37),
    "deepseek-r1": (671, 37),
    "deepseek-v4-pro": (1600, 49),
    "deepseek-v4-flash": (284, 13),
    "glm-4.5": (355, 32),
    "glm-4.6": (355, 32),
    "glm-5": (744, 40),
    "kimi-k2": (1040, 32),
    "kimi-k2.5": (1040, 32),
    "kimi-k3": (2780, 104.2),
    "llama-3.1-8b": (8.03, None),
    "llama-3.1-70b": (70.6, None),
    "llama-3.1-405b": (406, None),
    "minimax-m1": (456, 45.9),
    "minimax-m2": (230, 10),
    "minimax-m2.5": (230, 10),
    "minimax-m3": (428, 23),
    "mixtral-8x7b": (46.7, 12.9),
    "mixtral-8x22b": (141, 39),
    "qwen3-8b": (8.2, None),
    "qwen3-32b": (32.8, None),
    "qwen3-30b-a3b": (30.5, 3.3),
    "qwen3-235b-a22b": (235, 22),
    "qwen3-coder-480b-a35b": (480, 35),
    "qwen3-next-80b-a3b": (80, 3),
    "qwen3.5-397b-a17b": (397, 17),
    "gpt-oss-20b": (20.9, 3.6),
    "gpt-oss-120b": (117, 5.1),
}


@pytest.mark.parametrize("name", PUBLISHED_SIZES)
def test_total_weights_match_the_published_count(name):
    # 1 %: norms, biases, MTP layers and vision parts are left out, and counts are rounded; V4-Pro's
    # "1.6T" is rounded to two digits.
    total, _ = PUBLISHED_SIZES[name]
    tolerance = 0.02 if name in ("deepseek-v4-pro", "kimi-k2", "kimi-k2.5") else 0.01
    assert load_model(name).total_params / 1e9 == pytest.approx(total, rel=tolerance)


@pytest.mark.parametrize("name", [n for n, (_, active) in PUBLISHED_SIZES.items() if active])
def test_active_weights_match_the_published_count(name):
    # Publishers differ in whether they count embedding and head, and they cut or round.
    model, published = load_model(name), PUBLISHED_SIZES[name][1]
    head = model.weights.head
    fewest, most = (model.active_params - head) / 1e9, (model.active_params + head) / 1e9
    last_digit = 10.0 ** -len(str(published).partition(".")[2])
    assert fewest - last_digit <= published <= most + last_digit


def test_kv_of_textbook_models_by_hand():
    # 2 (keys, values) x heads x width x layers x 2 bytes.
    assert load_model("llama-3.1-70b").kv_bytes_per_token("bf16") == 2 * 8 * 128 * 80 * 2
    assert load_model("qwen3-235b-a22b").kv_bytes_per_token("fp8") == 2 * 4 * 128 * 94
    # MLA: one latent of 512 + 64 per layer.
    assert load_model("deepseek-v3").kv_bytes_per_token("bf16") == 576 * 61 * 2
    # Half of gpt-oss' layers see 128 tokens only, and the cache grows with the other half.
    gpt_oss = load_model("gpt-oss-120b")
    assert gpt_oss.kv_bytes_per_token("bf16") == 2 * 8 * 64 * 18 * 2
    assert gpt_oss.kv_bytes_fixed("bf16") == 2 * 8 * 64 * 128 * 18 * 2


def test_kv_table(data_dir):
    rows = _kv_rows(data_dir)
    assert len(rows) == 30
    for name, row in rows.items():
        model = load_model(name)
        assert model.kv_bytes_per_token("bf16") == float(row["kv_bytes_bf16"]), name
        assert model.kv_bytes_per_token("fp8") == float(row["kv_bytes_fp8"]), name
        for kv_dtype in ("bf16", "fp8"):
            # Sequences of the table include windows and leave out recurrent states.
            window = model.kv_bytes_fixed(kv_dtype) - model.state_bytes
            gib = (65536 * model.kv_bytes_per_token(kv_dtype) + window) / 2**30
            assert gib == pytest.approx(float(row[f"gib_64k_{kv_dtype}"]), abs=6e-4), name


def test_constant_states_of_the_table(data_dir):
    checked = 0
    for name, row in _kv_rows(data_dir).items():
        model, note = load_model(name), row["note"]
        if found := re.match(r"(?:\d+ linear \(KDA\) layers: )?\+([\d.]+) MiB/seq", note):
            digits = len(found[1].partition(".")[2])
            mib = model.kv_bytes_fixed("bf16") / 2**20
            assert round(mib, digits) == float(found[1]), name
            checked += 1
        else:
            assert model.kv_bytes_fixed("bf16") == 0, name
    assert checked == 8


def test_serving_layout_of_the_table(data_dir):
    checked = 0
    for name, row in _kv_rows(data_dir).items():
        if found := re.search(r"(?:layer|fp8) [=~](\d+) B/tok|= (\d+) B/tok", row["note"]):
            published = float(found[1] or found[2])
            served = load_model(name).kv_bytes_per_token("fp8_ds_mla")
            assert served == pytest.approx(published, abs=0.5), name
            checked += 1
    assert checked == 5


def test_v4_pro_cache_at_a_million_tokens():
    # vLLM: 9.62 GiB in bf16 per sequence.
    cache = 1_048_576 * load_model("deepseek-v4-pro").kv_bytes_per_token("bf16")
    assert cache / 2**30 == pytest.approx(9.62, abs=0.005)


@pytest.mark.parametrize(
    ("name", "smaller"), [("deepseek-v4-pro", 9.5), ("deepseek-v4-flash", 13.7)]
)
def test_v4_cache_against_v32(name, smaller):
    # DeepSeek: KV cache at 1M tokens 9.5 and 13.7 times smaller than V3.2's, as stored: fp8 with
    # bf16 rotary part, and in V4 the indexer's keys in fp4.
    model, older = load_model(name), load_model("deepseek-v3.2")
    tokens = 1_048_576
    new = tokens * model.kv_bytes_per_token("fp8_ds_mla", "mxfp4") + model.kv_bytes_fixed(
        "fp8_ds_mla"
    )
    old = tokens * older.kv_bytes_per_token("fp8_ds_mla")
    assert old / new == pytest.approx(smaller, abs=0.05)


def test_v4_pro_flop_against_v32():
    # DeepSeek: 27 % of V3.2's operations for one token at 1M tokens of context.
    new = load_model("deepseek-v4-pro").decode_flop_per_token(1e6)
    old = load_model("deepseek-v3.2").decode_flop_per_token(1e6)
    assert float(new / old) == pytest.approx(0.27, abs=0.005)


@pytest.mark.parametrize(
    ("name", "share"), [("deepseek-v4-pro", 0.27), ("deepseek-v4-flash", 0.10)]
)
def test_v4_flop_against_v32_in_fp8_equivalents(name, share):
    # The report counts equivalent fp8 operations: attention in bf16 doubles, V4's indexer in fp4
    # halves.
    def equivalent(model, index_weight):
        index = sum(
            group.count * span.decode_flop * float(span.entries(1e6))
            for group in model.groups
            for span in group.attention.spans
            if span.kind == "index"
        )
        core = float(model.decode_attention_flop(1e6)) - index
        return 2 * model.active_params + 2 * core + index_weight * index

    new = equivalent(load_model(name), 0.5)
    old = equivalent(load_model("deepseek-v3.2"), 1.0)
    assert new / old == pytest.approx(share, abs=0.005)


def test_built_in_profiles_equal_the_configurations(data_dir):
    folder = data_dir / "model-configs"
    seen = set()
    for path in sorted(folder.glob("*.json")):
        parsed, built_in = load_model(path), load_model(path.stem)
        seen.add(built_in.name)
        for field in (
            "groups",
            "hidden_size",
            "vocab_size",
            "tied_embeddings",
            "kernels_per_layer",
            "max_context_tokens",
        ):
            assert getattr(parsed, field) == getattr(built_in, field), (path.stem, field)
    assert seen == set(model_names())


def test_table_of_dimensions(data_dir):
    for name, row in _kv_rows(data_dir).items():
        model = load_model(name)
        assert model.layers == int(row["layers"]), name
        assert model.hidden_size == int(row["hidden"]), name
        assert model.vocab_size == int(row["vocab"]), name
        assert model.experts == int(row["experts"] or 0), name
        if row["top_k"]:
            assert model.experts_per_token == int(row["top_k"]), name
        heads = 1 if model.is_mla else int(row["kv_heads"])
        assert model.kv_heads == heads, name


def test_kernel_counts_of_the_fitted_families():
    # Counts by hand that the published roofline fit was made with.
    counts = {
        "llama-3.1-70b": 10,
        "qwen3-32b": 12,
        "gpt-oss-120b": 15,
        "qwen3-235b-a22b": 18,
        "minimax-m2.5": 18,
        "qwen3.5-397b-a17b": 24,
        "deepseek-r1": 25,
        "kimi-k2.5": 25,
    }
    assert {name: load_model(name).kernels_per_layer for name in counts} == counts


def test_attention_coefficients():
    # 4 H d for grouped queries; 2 H (d_qk + d_v) and 2 H (2 rank + rope) for MLA.
    (span,) = load_model("llama-3.1-70b").groups[0].attention.spans
    assert (span.prefill_flop, span.decode_flop) == (4 * 64 * 128, 4 * 64 * 128)
    (span,) = load_model("deepseek-v3").groups[0].attention.spans
    assert span.prefill_flop == 2 * 128 * (128 + 64 + 128)
    assert span.decode_flop == 2 * 128 * (2 * 512 + 64)


def test_full_prefill_attention_is_half_a_square():
    # a L (U L - U^2 / 2) with U = L: a n L^2 / 2.
    model, tokens = load_model("llama-3.1-8b"), 4096.0
    expected = 4 * 32 * 128 * 32 * tokens**2 / 2
    assert float(model.prefill_attention_flop(tokens, tokens)) == pytest.approx(expected)
    # The last tokens of a cached prompt: U (L - U / 2).
    part = float(model.prefill_attention_flop(96.0, tokens))
    assert part == pytest.approx(4 * 32 * 128 * 32 * 96 * (tokens - 48))


@pytest.mark.parametrize(
    "name", ["gpt-oss-120b", "deepseek-v3.2", "deepseek-v4-pro", "glm-5.2", "minimax-m3"]
)
def test_prefill_attention_is_the_sum_over_queries(name):
    # Token by token, the closed form of windows, top-k and compressed spans must agree.
    model = load_model(name)
    context, new = 9000, 8100
    total = 0.0
    positions = np.arange(context - new, context) + 0.5
    for group in model.groups:
        for span in group.attention.spans:
            total += group.count * span.prefill_flop * float(span.entries(positions).sum())
    assert float(model.prefill_attention_flop(new, context)) == pytest.approx(total, rel=1e-4)


def test_sparse_and_windowed_spans_stop_growing():
    model = load_model("gpt-oss-120b")
    step = model.decode_attention_flop(np.array([1e4, 2e4, 3e4]))
    # Beyond the window only the 18 full layers grow.
    assert np.diff(step) == pytest.approx(4 * 64 * 64 * 18 * 1e4)
    read = load_model("deepseek-v3.2").decode_read_bytes(np.array([1e4, 2e4]), "bf16")
    # 2,048 chosen entries stay; the indexer's 128-element keys are read whole.
    assert float(read[1] - read[0]) == pytest.approx(61 * 128 * 2 * 1e4)


def test_linear_layers_cost_the_same_at_any_context():
    model = load_model("kimi-k3")
    near, far = model.decode_attention_flop(np.array([1e3, 1e6]))
    full = 24 * 2 * 96 * (2 * 512 + 64)
    assert far - near == pytest.approx(full * (1e6 - 1e3))
    assert model.state_bytes == 69 * 96 * 128 * 128 * 4
    assert float(model.decode_read_bytes(0.0, "bf16")) == 2 * model.state_bytes


def test_tensor_parallel_copies_of_the_cache():
    mla, gqa = load_model("deepseek-v3"), load_model("llama-3.1-70b")
    assert [mla.kv_copies(n) for n in (1, 8)] == [1, 8]
    assert [gqa.kv_copies(n) for n in (1, 8, 16)] == [1, 1, 2]
    assert load_model("deepseek-v4-pro").kv_copies(8) == 8


def test_weight_bytes_by_format():
    llama = load_model("llama-3.1-70b")
    assert llama.weight_bytes("bf16") == 2 * llama.total_params
    head = llama.weights.head
    assert llama.weight_bytes("fp8") == llama.total_params - 2 * head + 4 * head
    # 4-bit checkpoints of expert models keep all but the experts in bf16.
    moe = load_model("kimi-k2.5")
    split = moe.weight_split_bytes("int4")
    assert split.attention == 2 * moe.weights.attention
    assert split.experts == 0.53125 * moe.weights.experts
    assert moe.weight_formats("fp8", "mxfp4") == ("fp8", "mxfp4")
    # A published size: the MXFP4 checkpoint of gpt-oss-120b is 60.8 GiB (65.3 GB), model card.
    gpt_oss = load_model("gpt-oss-120b")
    assert gpt_oss.weight_bytes("mxfp4") / 1e9 == pytest.approx(65.3, rel=0.01)


def test_unknown_formats_are_named():
    model = load_model("llama-3.1-8b")
    with pytest.raises(InputError, match="weight format 'fp9'") as caught:
        model.weight_bytes("fp9")
    assert caught.value.issues[0].help == "did you mean 'fp8'?"
    with pytest.raises(InputError, match="KV cache format 'bf61'"):
        model.kv_bytes_per_token("bf61")


def test_names_aliases_and_repositories():
    assert load_model("Meta-Llama/Llama-3.1-70B-Instruct").name == "llama-3.1-70b"
    assert load_model("DeepSeek_V3").name == "deepseek-v3"
    with pytest.raises(InputError, match="unknown model 'deepseek-v33'") as caught:
        load_model("deepseek-v33")
    assert "'deepseek-v3" in caught.value.issues[0].help


LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 32,
    "vocab_size": 128256,
}


def test_configuration_from_a_file_and_a_folder(tmp_path):
    folder = tmp_path / "My-Llama"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA))
    by_folder, by_file = load_model(folder), load_model(folder / "config.json")
    assert by_folder.name == by_file.name == "my-llama"
    assert by_folder.groups == load_model("llama-3.1-8b").groups


def test_unknown_architecture_names_the_field_and_offers_numbers():
    with pytest.raises(InputError) as caught:
        model_from_config({**LLAMA, "model_type": "lama"}, name="x", file="config.json")
    (issue,) = caught.value.issues
    assert (issue.path, issue.file) == ("model_type", "config.json")
    assert "'lama'" in issue.message
    assert "'llama'" in issue.help
    assert "kv_bytes_per_token" in issue.help


def test_all_missing_fields_are_named_at_once():
    config = {k: v for k, v in LLAMA.items() if k not in ("vocab_size", "intermediate_size")}
    config["num_attention_heads"] = 0
    with pytest.raises(InputError) as caught:
        model_from_config(config, name="x")
    paths = {issue.path for issue in caught.value.issues}
    assert {"num_attention_heads", "intermediate_size"} <= paths
    with pytest.raises(InputError, match="vocab_size is missing"):
        model_from_config({k: v for k, v in LLAMA.items() if k != "vocab_size"}, name="x")


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"hidden_size": -1}, "hidden_size"),
        ({"num_hidden_layers": "many"}, "num_hidden_layers"),
        ({"num_key_value_heads": 2.5}, "num_key_value_heads"),
        ({"sliding_window": 128, "layer_types": ["full_attention"]}, "layer_types"),
        ({"n_routed_experts": 4, "num_experts_per_tok": 8}, "num_experts_per_tok"),
    ],
)
def test_impossible_fields(change, path):
    with pytest.raises(InputError) as caught:
        model_from_config({**LLAMA, **change}, name="x")
    assert path in {issue.path for issue in caught.value.issues}


def test_bad_json_has_its_line(tmp_path):
    file = tmp_path / "config.json"
    file.write_text('{\n"model_type": "llama",\n oops}')
    with pytest.raises(InputError, match="not valid JSON") as caught:
        load_model(file)
    assert caught.value.issues[0].line == 3
    with pytest.raises(InputError, match="cannot read"):
        load_model(tmp_path / "absent.json")


def test_multi_token_prediction_is_left_out():
    plain = model_from_config(LLAMA, name="x")
    more = model_from_config({**LLAMA, "num_nextn_predict_layers": 1}, name="x")
    assert plain.total_params == more.total_params
    assert any("prediction" in note for note in more.notes)


def _kv_rows(data_dir):
    with (data_dir / "model-configs" / "kv_bytes_per_token.csv").open() as file:
        return {row["model"]: row for row in csv.DictReader(file)}


WEIRD = ("x", -1, 0, 1.5, None, [], ["a"], {}, True, [[1]])


def test_no_configuration_field_ends_in_a_traceback(data_dir):
    # Each field of each configuration replaced by something odd: a profile or an InputError.
    outcomes = {"profile": 0, "error": 0}
    for path in sorted((data_dir / "model-configs").glob("*.json")):
        config = json.loads(path.read_text())
        for key, value in _places(config):
            original = value[key]
            for odd in WEIRD:
                value[key] = odd
                try:
                    model = model_from_config(config, name="x")
                except InputError:
                    outcomes["error"] += 1
                else:
                    assert model.total_params > 0
                    outcomes["profile"] += 1
            value[key] = original
    assert min(outcomes.values()) > 1000


def test_kinds_of_layers_that_are_not_known_are_refused():
    config = {**LLAMA, "sliding_window": 512, "layer_types": ["chunked_attention"] * 32}
    with pytest.raises(InputError, match="'chunked_attention' where sliding_attention or full"):
        model_from_config(config, name="x")


def _places(data):
    for key in list(data):
        yield key, data
        if isinstance(data[key], dict) and key != "vision_config":
            yield from _places(data[key])
