"""Roofline: operator counts, memory, pass times and engine shapes."""

from pdd_plan.roofline.affine import (
    AffineStep,
    fit_affine_step,
    max_batch_in_memory,
    max_batch_under,
)
from pdd_plan.roofline.build import candidate_shapes, make_engine_times
from pdd_plan.roofline.counts import Precision, operator_counts
from pdd_plan.roofline.efficiencies import FRAMEWORKS, Efficiencies
from pdd_plan.roofline.engine_shape import EngineShape, RejectedShape
from pdd_plan.roofline.measured import DecodeTable, MeasuredTimes, PrefillTable
from pdd_plan.roofline.modeled import RooflineTimes
from pdd_plan.roofline.operators import OperatorCounts
from pdd_plan.roofline.relative import RelativeTimes
from pdd_plan.roofline.times import Bound, EngineTimes

__all__ = [
    "FRAMEWORKS",
    "AffineStep",
    "Bound",
    "DecodeTable",
    "Efficiencies",
    "EngineShape",
    "EngineTimes",
    "MeasuredTimes",
    "OperatorCounts",
    "Precision",
    "PrefillTable",
    "RejectedShape",
    "RelativeTimes",
    "RooflineTimes",
    "candidate_shapes",
    "fit_affine_step",
    "make_engine_times",
    "max_batch_in_memory",
    "max_batch_under",
    "operator_counts",
]
