"""Bytes of KV cache by tokens, and how many caches fit in memory."""

from __future__ import annotations

import numpy as np

from pdd_plan.catalog import ModelProfile
from pdd_plan.fleet.problem import FloatArray
from pdd_plan.roofline.interpolation import MonotoneCurve
from pdd_plan.scenario.schema import Scenario

MEMORY_QUANTILE = 2.326
"""Standard normal 99 % quantile: the KV caches in memory fit with this confidence."""


def kv_cache_bytes(scenario: Scenario, model: ModelProfile, tokens: FloatArray) -> FloatArray:
    """KV cache of some tokens of one request [bytes].

    Parameters
    ----------
    tokens : ndarray
        Tokens whose cache it is.

    Returns
    -------
    ndarray, shape as ``tokens``
        From ``model.kv_table`` where there is one, along its end slopes outside of it; else bytes
        per token and fixed bytes of the model.
    """
    table = None if isinstance(scenario.model, str) else scenario.model.kv_table
    if table is not None:
        return MonotoneCurve(table.tokens, table.size_bytes)(tokens)
    dtype = scenario.precision.kv_cache
    return np.asarray(tokens * model.kv_bytes_per_token(dtype) + model.kv_bytes_fixed(dtype))


def caches_in_memory(mean: FloatArray, deviation: FloatArray, room_bytes: FloatArray) -> FloatArray:
    """Number of KV caches that fit in memory with 99 % confidence, as a real number.

    Parameters
    ----------
    mean, deviation : ndarray
        Mean bytes of one cache, above 0, and the deviation per square root of their number [bytes].
    room_bytes : ndarray
        Memory for KV cache [bytes].

    Returns
    -------
    ndarray, broadcast shape
        Root n of n * mean + 2.326 * sqrt(n) * deviation = room.
    """
    spread = MEMORY_QUANTILE * deviation
    root = (-spread + np.sqrt(spread**2 + 4.0 * mean * room_bytes)) / (2.0 * mean)
    return np.asarray(root**2)
