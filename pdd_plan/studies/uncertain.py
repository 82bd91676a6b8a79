"""Plans under uncertain inputs: the risk of a plan, and a plan that holds with a confidence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pdd_plan.fleet.plan import Plan
from pdd_plan.fleet.plan_uncertainty import Headroom, UncertainInput, Uncertainty
from pdd_plan.scenario import Scenario
from pdd_plan.scenario.uncertain import UncertainValue
from pdd_plan.studies.outage_specs import OutageSpec
from pdd_plan.studies.plan_options import PlanOptions
from pdd_plan.studies.planning import evaluate_plan, plan_scenario
from pdd_plan.studies.uncertain_draws import Draws, Variants, hypercube_draws, inputs_of
from pdd_plan.studies.uncertain_drivers import drivers_of, ttft_histogram
from pdd_plan.studies.uncertain_risk import Judge, Outcome, risk_of
from pdd_plan.studies.uncertain_search import Search


def plan_with_risk(scenario: Scenario, options: PlanOptions | None = None) -> Plan:
    """Plan a scenario, and where its section `uncertainty` says so, under uncertain inputs.

    Parameters
    ----------
    scenario : Scenario
        As loaded. Where its section `uncertainty` states a confidence, the plan holds with it, if
        one was found that does; otherwise the plan is that for the values as written.
    options : PlanOptions, optional
        As for `plan_scenario`; `seed` and `jobs` are for the draws.

    Returns
    -------
    Plan
        With `Plan.uncertainty`, unless the section is missing or there is no plan.

    Raises
    ------
    InputError
        If the scenario cannot be planned, or a draw of its inputs is no scenario.
    SolverError
        If the solver fails, or finds nothing in time.
    """
    options = options or PlanOptions()
    nominal = plan_scenario(scenario, options)
    if scenario.uncertainty is None or nominal.status == "infeasible":
        return nominal
    study = _Study(scenario, options)
    if scenario.uncertainty.confidence is None:
        return study.with_risk(nominal)
    search = Search(scenario, study.judge, study.draws, options)
    found = search.find(nominal)
    before = search.outcomes(nominal)
    cost = nominal.cost.usd_per_hour if nominal.cost is not None else 0.0
    headroom = Headroom(
        reached=found.fleet is not None,
        nominal_usd_per_hour=cost,
        usd_per_hour=None,
        extra_fraction=None,
        plans=found.plans,
        fleets=found.fleets,
        verification=found.verification,
    )
    if found.fleet is None:
        return study.told(nominal, before, headroom)
    if found.fleet is nominal:
        own = {"usd_per_hour": cost, "extra_fraction": 0.0}
        return study.told(nominal, before, headroom.model_copy(update=own))
    plan = evaluate_plan(scenario, found.fleet, options)
    # One engine fewer would do for the values as written, which is not the question here.
    plan = plan.model_copy(update={"sensitivity": ()})
    more = plan.cost.usd_per_hour if plan.cost is not None else 0.0
    own = {"usd_per_hour": more, "extra_fraction": more / cost - 1.0}
    after = search.outcomes(found.fleet)
    return study.told(plan, after, headroom.model_copy(update=own), before)


def evaluate_with_risk(
    scenario: Scenario,
    plan: Plan,
    options: PlanOptions | None = None,
    outages: Sequence[OutageSpec] = (),
) -> Plan:
    """Score a given fleet, and where inputs are uncertain, tell its risk.

    Parameters
    ----------
    scenario, plan, options, outages
        As for `evaluate_plan`.

    Returns
    -------
    Plan
        With `Plan.uncertainty`, if the scenario has a section of that name.

    Raises
    ------
    InputError
        As `evaluate_plan`; or if a draw of the inputs is no scenario.
    """
    options = options or PlanOptions()
    scored = evaluate_plan(scenario, plan, options, outages)
    return scored if scenario.uncertainty is None else _Study(scenario, options).with_risk(scored)


class _Study:
    """The draws of a scenario, and fleets judged by them."""

    def __init__(self, scenario: Scenario, options: PlanOptions) -> None:
        assert scenario.uncertainty is not None
        self._scenario, self._seed = scenario, options.seed
        self.draws = hypercube_draws(
            inputs_of(scenario), scenario.uncertainty.samples, options.seed
        )
        self.judge = Judge(Variants(scenario), options.jobs, options.progress)

    def with_risk(self, plan: Plan) -> Plan:
        """Return a plan with what the draws do to it."""
        return self.told(plan, self.judge.outcomes(self.draws, plan, "evaluating draws"))

    def told(
        self,
        plan: Plan,
        outcomes: Sequence[Outcome],
        headroom: Headroom | None = None,
        before: Sequence[Outcome] = (),
    ) -> Plan:
        """Return a plan with its outcomes, and with those of the plan whose place it takes."""
        told = _told(self._scenario, self.draws, outcomes, self._seed)
        update: dict[str, object] = {"headroom": headroom}
        if before:
            limits = self._scenario.slo.limits
            update["nominal_risk"] = risk_of(before, limits, self.draws.sampling)
        return plan.model_copy(update={"uncertainty": told.model_copy(update=update)})


def _told(scenario: Scenario, draws: Draws, outcomes: Sequence[Outcome], seed: int) -> Uncertainty:
    assert scenario.uncertainty is not None
    limits = scenario.slo.limits
    limit = next((one.limit_s for one in limits if one.key == "ttft_p90"), None)
    histogram, beyond = None, 1.0
    if any(one.stable for one in outcomes):
        histogram, beyond = ttft_histogram(outcomes, limit)
    return Uncertainty(
        confidence=scenario.uncertainty.confidence,
        seed=seed,
        correlation="none",
        inputs=tuple(_input(one) for one in draws.inputs),
        risk=risk_of(outcomes, limits, draws.sampling),
        drivers=drivers_of(draws, outcomes, limits),
        ttft_p90_histogram=histogram,
        ttft_p90_beyond=beyond,
    )


def _input(one: UncertainValue) -> UncertainInput:
    p5, p50, p95 = one.spread.quantile(np.array([0.05, 0.5, 0.95])).tolist()
    return UncertainInput(
        path=one.path,
        unit="" if one.unit == "1" else one.unit,
        distribution=one.spread.kind,
        written=one.written,
        p5=p5,
        p50=p50,
        p95=p95,
    )
