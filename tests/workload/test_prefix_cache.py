"""Prefix hits against a cache that is simulated block by block, and against published counts."""

import gzip
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdd_plan.workload import (
    BlockRuns,
    RawTrace,
    cached_tokens,
    hit_rate_curve,
    reuse_profile,
    trace_reuse_profile,
)
from pdd_plan.workload.arrivals import draw_session_starts
from pdd_plan.workload.prefix_cache import hit_blocks, reused_block_share


def runs_of(requests, block_tokens=1):
    """Requests as lists of ids, to runs."""
    offsets, first, count = [0], [], []
    for ids in requests:
        for position, block in enumerate(ids):
            if position and block == ids[position - 1] + 1:
                count[-1] += 1
            else:
                first.append(block)
                count.append(1)
        offsets.append(len(first))
    return BlockRuns(*(np.array(c, dtype=np.int64) for c in (offsets, first, count)), block_tokens)


def simulate(requests, spaces, times, capacity=None, ttl_s=None):
    """The leading blocks found by each request, one block at a time."""
    cache, hits = OrderedDict(), []
    for ids, space, now in zip(requests, spaces, times, strict=True):
        found = 0
        for block in ids:
            used = cache.get((space, block))
            if used is None or (ttl_s is not None and now - used > ttl_s):
                break
            found += 1
        hits.append(found)
        for block in reversed(ids):
            cache[space, block] = now
            cache.move_to_end((space, block))
        while capacity is not None and len(cache) > capacity:
            cache.popitem(last=False)
    return hits


def forest(seed, requests=150, spaces=1):
    """Conversations that grow, branch and share beginnings; ids as prefix hashes."""
    rng = np.random.default_rng(seed)
    known = {space: [[]] for space in range(spaces)}
    fresh = dict.fromkeys(range(spaces), 0)
    prompts, owner = [], []
    for _ in range(requests):
        space = int(rng.integers(spaces))
        base = known[space][int(rng.integers(len(known[space])))]
        kept = base[: int(rng.integers(len(base) + 1))] if rng.random() < 0.3 else base
        grown = int(rng.integers(0, 6))
        prompt = kept + list(range(fresh[space], fresh[space] + grown))
        fresh[space] += grown
        known[space].append(prompt)
        prompts.append(prompt)
        owner.append(space)
    return prompts, owner, np.cumsum(rng.exponential(10.0, requests)).tolist()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("spaces", [1, 3])
def test_every_size_at_once_equals_a_simulation_of_each(seed, spaces):
    prompts, owner, times = forest(seed, spaces=spaces)
    profile = reuse_profile(runs_of(prompts), times, np.array(owner))
    assert hit_blocks(profile).tolist() == simulate(prompts, owner, times)
    for capacity in (0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 1000):
        expected = simulate(prompts, owner, times, capacity)
        assert hit_blocks(profile, capacity).tolist() == expected, capacity
    for ttl_s in (0.0, 1.0, 10.0, 60.0, 300.0, 1e9):
        assert hit_blocks(profile, ttl_s=ttl_s).tolist() == simulate(
            prompts, owner, times, ttl_s=ttl_s
        )
    distinct = {(space, block) for ids, space in zip(prompts, owner, strict=True) for block in ids}
    assert profile.distinct_blocks == len(distinct)
    assert profile.request_blocks.tolist() == [len(ids) for ids in prompts]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.lists(st.integers(0, 12), max_size=8, unique=True), min_size=1, max_size=25),
    st.integers(0, 14),
)
def test_any_block_lists_even_without_prefix_structure(prompts, capacity):
    times = [float(k) for k in range(len(prompts))]
    profile = reuse_profile(runs_of(prompts), times)
    spaces = [0] * len(prompts)
    assert hit_blocks(profile).tolist() == simulate(prompts, spaces, times)
    assert hit_blocks(profile, capacity).tolist() == simulate(prompts, spaces, times, capacity)


def test_hits_never_fall_with_size_and_end_at_the_unlimited_cache():
    prompts, _, times = forest(3, 400)
    profile = reuse_profile(runs_of(prompts, 16), times)
    length = np.array([max(16 * len(ids), 1) for ids in prompts])
    curve = hit_rate_curve(profile, length)
    sizes = [point.capacity_blocks for point in curve]
    rates = [point.mean_hit_rate for point in curve]
    assert sizes == sorted(sizes)
    assert rates == sorted(rates)
    assert np.isinf(sizes[-1])
    assert curve[-2].block_hit_rate == curve[-1].block_hit_rate == reused_block_share(profile)
    assert curve[0].capacity_tokens == 16 * sizes[0]
    chosen = hit_rate_curve(profile, length, [4, 40])
    assert [point.capacity_blocks for point in chosen] == [4, 40, np.inf]


def test_a_whole_prompt_in_the_cache_leaves_its_last_token():
    profile = reuse_profile(runs_of([[0, 1], [0, 1], [0, 1, 2]], 10))
    assert cached_tokens(profile, [20, 20, 25]).tolist() == [0, 19, 20]


def test_an_empty_trace_of_blocks():
    profile = reuse_profile(runs_of([[], []]))
    assert hit_blocks(profile).tolist() == [0, 0]
    assert reused_block_share(profile) == 0
    assert hit_rate_curve(profile, [5, 5])[-1].mean_hit_rate == 0


def column(path, *names):
    with gzip.open(path, "rt") as file:
        header = file.readline().strip().split(",")
        table = dict(zip(header, np.loadtxt(file, delimiter=",").T, strict=True))
    return [table[name] for name in names]


def test_mooncake_conversation_row_by_row(data_dir, mooncake):
    # Counts made independently of this package, see the README of the traces.
    path = data_dir / "traces" / "derived" / "mooncake_conversation_requests.csv.gz"
    length, unlimited, limited = column(path, "input_tokens", "cached_inf", "cached_lru_5m")
    assert mooncake.input_tokens.tolist() == length.tolist()
    assert mooncake.cached_tokens.tolist() == unlimited.tolist()
    profile = reuse_profile(mooncake.blocks, mooncake.arrival_s)
    assert cached_tokens(profile, length, capacity_blocks=10_000).tolist() == limited.tolist()
    assert round(np.mean(unlimited / length), 3) == 0.409
    assert round(mooncake.reused_block_share, 3) == 0.366


def in_session_order(trace):
    return np.lexsort((np.arange(len(trace)), trace.time_in_session_s, trace.session))


def test_claude_code_row_by_row(data_dir, claude_code):
    path = data_dir / "traces" / "derived" / "claude_code_requests.csv.gz"
    names = ("session", "t_in_session_s", "input_tokens", "cached_inf", "cached_ttl300")
    session, within, length, unlimited, limited = column(path, *names)
    rows = np.lexsort((np.arange(length.size), within, session))
    order = in_session_order(claude_code)
    assert claude_code.input_tokens[order].tolist() == length[rows].tolist()
    # Rows of one session at one time are told apart by order in the file, which both keep.
    assert claude_code.cached_tokens[order].tolist() == unlimited[rows].tolist()
    hit = claude_code.cached_tokens / claude_code.input_tokens
    assert round(np.mean(hit >= 0.95), 3) == 0.886
    assert round(np.mean(hit), 3) == 0.951
    profile = trace_reuse_profile(claude_code, warmup_windows=0)
    found = cached_tokens(profile, claude_code.input_tokens, ttl_s=300)[order]
    # Without a warm-up window, what ran before the start of the window is unknown.
    assert np.all(found <= limited[rows])
    assert np.mean(found == limited[rows]) > 0.99


@pytest.mark.long
def test_one_warm_up_window_finds_every_block_of_the_last_minutes(data_dir, claude_code):
    path = data_dir / "traces" / "derived" / "claude_code_requests.csv.gz"
    names = ("session", "t_in_session_s", "cached_ttl300")
    session, within, limited = column(path, *names)
    rows = np.lexsort((np.arange(within.size), within, session))
    profile = trace_reuse_profile(claude_code, warmup_windows=1)
    order = in_session_order(claude_code)
    found = cached_tokens(profile, claude_code.input_tokens, ttl_s=300)[order]
    assert found.tolist() == limited[rows].tolist()


def test_sessions_around_a_circle_are_unrolled():
    # One session of three growing prompts over 30 s on a circle of 20 s: the last one wraps.
    session = np.zeros(3, dtype=np.int64)
    within = np.array([0.0, 10.0, 30.0])
    arrival = np.mod(3.0 + within, 20.0)  # 3, 13, 13
    blocks = runs_of([[0], [0, 1], [0, 1, 2]], 64)
    trace = RawTrace(
        arrival_s=arrival,
        input_tokens=np.array([64.0, 128.0, 192.0]),
        output_tokens=np.ones(3),
        cached_tokens=None,
        session=session,
        time_in_session_s=within,
        window_s=20.0,
        blocks=blocks,
    )
    assert hit_blocks(trace_reuse_profile(trace, 0)).tolist() == [0, 1, 0]
    warm = trace_reuse_profile(trace, 1)
    assert hit_blocks(warm).tolist() == [0, 1, 2]
    assert warm.age_s.tolist() == [10.0, 20.0]


def test_drawn_starts_give_the_rate_everywhere():
    rng = np.random.default_rng(1)
    session = np.repeat(np.arange(2000), 5)
    within = np.sort(rng.exponential(4000.0, (2000, 5)), axis=1)
    within = (within - within[:, :1]).ravel()
    arrival = draw_session_starts(within, session, 2.0, seed=4)
    assert arrival.min() >= 0
    assert arrival.max() < 5000
    counts, _ = np.histogram(arrival, bins=10, range=(0, 5000))
    # 1,000 expected a bin; the five of a session fall together at worst: sd below 71.
    assert np.all(np.abs(counts - 1000) < 4 * 71)
    assert draw_session_starts(within, session, 2.0, seed=4).tolist() == arrival.tolist()
