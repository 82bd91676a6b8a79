"""What the user wrote: schema, loader with file and line, cross checks, overrides."""

from pdd_plan.scenario.efficiencies import Efficiencies
from pdd_plan.scenario.files import find_scenario, scenario_names
from pdd_plan.scenario.json_schema import scenario_json_schema
from pdd_plan.scenario.lines import Bandwidth, Link
from pdd_plan.scenario.loader import (
    Question,
    load_question,
    load_scenario,
    of_one_service,
    question_from_data,
    scenario_from_data,
)
from pdd_plan.scenario.machines import (
    DecodeTable,
    EngineSpec,
    Precision,
    PrefillTable,
)
from pdd_plan.scenario.model_numbers import ModelNumbers
from pdd_plan.scenario.places import ChipOffer, Rdma, Role, Site
from pdd_plan.scenario.policy import MinEngines, Optimizer, Routing, Serving, Slo, SloLimit
from pdd_plan.scenario.schema import SCHEMA_VERSION, Scenario
from pdd_plan.scenario.services import SharedScenario
from pdd_plan.scenario.source import SourceMap
from pdd_plan.scenario.traffic import MixturePart, Period, RequestClass, Trace, Workload

__all__ = [
    "SCHEMA_VERSION",
    "Bandwidth",
    "ChipOffer",
    "DecodeTable",
    "Efficiencies",
    "EngineSpec",
    "Link",
    "MinEngines",
    "MixturePart",
    "ModelNumbers",
    "Optimizer",
    "Period",
    "Precision",
    "PrefillTable",
    "Question",
    "Rdma",
    "RequestClass",
    "Role",
    "Routing",
    "Scenario",
    "Serving",
    "SharedScenario",
    "Site",
    "Slo",
    "SloLimit",
    "SourceMap",
    "Trace",
    "Workload",
    "find_scenario",
    "load_question",
    "load_scenario",
    "of_one_service",
    "question_from_data",
    "scenario_from_data",
    "scenario_json_schema",
    "scenario_names",
]
