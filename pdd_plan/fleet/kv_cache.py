"""Bytes of KV cache by tokens, from the model or from a measured table."""

from __future__ import annotations

import numpy as np

from pdd_plan.catalog import ModelProfile
from pdd_plan.fleet.problem import FloatArray
from pdd_plan.roofline.interpolation import MonotoneCurve
from pdd_plan.scenario.schema import Scenario


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
