"""Catalog: profiles of chips, links and models, each number with its source."""

from pdd_plan.catalog.attention import KV_BYTES, Attention, Span
from pdd_plan.catalog.chips import (
    ChipProfile,
    RelativeChip,
    absolute_chip,
    chip_names,
    load_chip,
)
from pdd_plan.catalog.describe import (
    ProfileRow,
    check_profiles,
    describe_chip,
    describe_link,
    describe_model,
)
from pdd_plan.catalog.hf_config import model_from_config
from pdd_plan.catalog.links import LinkProfile, link_names, load_link
from pdd_plan.catalog.model_files import load_model, model_names
from pdd_plan.catalog.model_numbers import model_from_numbers
from pdd_plan.catalog.models import WEIGHT_BYTES, LayerGroup, ModelProfile, WeightSplit
from pdd_plan.catalog.provenance import PriceQuote, Sourced

__all__ = [
    "KV_BYTES",
    "WEIGHT_BYTES",
    "Attention",
    "ChipProfile",
    "LayerGroup",
    "LinkProfile",
    "ModelProfile",
    "PriceQuote",
    "ProfileRow",
    "RelativeChip",
    "Sourced",
    "Span",
    "WeightSplit",
    "absolute_chip",
    "check_profiles",
    "chip_names",
    "describe_chip",
    "describe_link",
    "describe_model",
    "link_names",
    "load_chip",
    "load_link",
    "load_model",
    "model_from_config",
    "model_from_numbers",
    "model_names",
]
