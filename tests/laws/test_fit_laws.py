"""Laws of fitting nodes to pods: no mix is cheaper, no bound is above it, and no plan of it leaves a pod Pending."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.unit.capacity.fit_problems import cheapest, packs, problem
from tests.unit.plan.planning import Raw, spec
from tests.unit.plan.pools.pool_worlds import node_pool, planner_of, pools_of
from tests.unit.pools.inputs import instance_type, instance_types

from moorage.capacity.fitting.fit import Fitted, fit
from moorage.capacity.fitting.model import fluid, greedy, highs, solve
from moorage.capacity.fitting.model.filling import best_fill
from moorage.capacity.fitting.model.fluid import Relaxation, relax
from moorage.capacity.fitting.model.problem import Bound, Ints, Problem, undominated
from moorage.capacity.fitting.report import manifests_of
from moorage.capacity.fitting.trial import MixTrials, Played
from moorage.capacity.fitting.worlds import FitWorld
from moorage.pools.reading import Pools

NEAR = 1e-6
NUMBERS = st.lists(st.integers(0, 3), min_size=1, max_size=3)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    numbers = draw(NUMBERS)
    kinds = draw(st.integers(1, 3))
    amounts = [draw(st.lists(st.integers(0, 5), min_size=2, max_size=2)) for _ in numbers]
    amounts = [[max(first, 1), second] for first, second in amounts]
    rooms = [draw(st.lists(st.integers(1, 9), min_size=2, max_size=2)) for _ in range(kinds)]
    prices = [float(draw(st.integers(1, 9))) for _ in range(kinds)]
    takes = [[draw(st.integers(0, 4)) > 0 for _ in range(kinds)] for _ in numbers]
    bounds = []
    if draw(st.booleans()):
        several = st.lists(st.integers(0, 2), min_size=kinds, max_size=kinds)  # as limits of resources are
        first = st.just([int(index == 0) for index in range(kinds)])
        shares = np.array(draw(st.one_of(first, several)), np.float64)
        least = draw(st.integers(0, 1))
        bounds.append(Bound("pool: maxSize", shares, float(least + draw(st.integers(0, 2))), float(least)))
    return problem(numbers, amounts, rooms, prices, takes, bounds)


def law_of_mixes(most: int = examples(120), *, exact: bool = True) -> None:
    @settings(LAW_SETTINGS, max_examples=most)
    @given(problems())
    def law(world: Problem) -> None:
        best, solved = cheapest(world), solve.solve(world)
        if best is None:
            assert solved is None or not solved.mix.is_whole
            return
        if exact:
            assert solved is not None
            assert solved.mix.is_whole
            assert abs(solved.cost - best) < NEAR
        if solved is not None:
            assert solved.bound <= best + NEAR
            if solved.mix.is_whole:
                assert solved.cost >= best - NEAR
                assert world.keeps_bounds(solved.mix.nodes)
                assert packs(world, solved.mix.nodes.tolist())

    law()


def test_the_mix_is_the_cheapest_there_is() -> None:
    pytest.importorskip("highspy")
    law_of_mixes()


def test_a_solver_that_forgets_a_kind_of_node_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("highspy")
    monkeypatch.setattr(solve, "undominated", lambda world: undominated(world)[:1])
    assert_notices(lambda: law_of_mixes(200))


def test_kinds_that_are_left_out_in_spite_of_bounds_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("highspy")
    monkeypatch.setattr(solve, "undominated", lambda world: undominated(msgspec.structs.replace(world, bounds=())))
    assert_notices(lambda: law_of_mixes(300))


def test_column_generation_is_never_better_than_the_cheapest_and_its_bound_never_above(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("highspy")
    monkeypatch.setattr(solve, "MAX_FILLINGS", -1)
    law_of_mixes(exact=False)


def test_the_greedy_answer_without_highs_has_a_valid_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (fluid, solve, highs):
        monkeypatch.setattr(module, "is_installed", lambda: False)
    law_of_mixes(exact=False)


def test_a_bound_that_is_too_high_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("highspy")

    def dear(world: Problem) -> Relaxation | None:
        found = relax(world)
        return None if found is None else Relaxation(found.cost * 1.5, *list(_fields(found))[1:])

    monkeypatch.setattr(solve, "MAX_FILLINGS", -1)
    monkeypatch.setattr(solve, "relax", dear)
    assert_notices(lambda: law_of_mixes(300, exact=False))


def _fields(found: Relaxation) -> list[Any]:
    return [getattr(found, name) for name in found.__struct_fields__]


def test_a_greedy_mix_that_overfills_nodes_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def overfull(*arguments: Any) -> tuple[Ints, Any]:
        filled, worth = best_fill(*arguments)
        return np.minimum(filled * 2, arguments[2][None, :]), worth

    for module in (fluid, solve, highs):
        monkeypatch.setattr(module, "is_installed", lambda: False)
    monkeypatch.setattr(greedy, "best_fill", overfull)
    assert_notices(lambda: law_of_mixes(200, exact=False))


# -- the whole answer, against plans -----------------------------------------------------------------------------------

ZONE = "topology.kubernetes.io/zone"
SMALL = instance_type("s", "2", "8Gi", spot={"a": 0.03, "b": 0.04})
LARGE = instance_type("l", "5", "8Gi", on_demand={"a": 0.07})
POOLS = (
    node_pool(
        "spot",
        [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}],
        [{"key": "spot", "value": "20", "effect": "NoSchedule"}],
    ),
    node_pool("steady", [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}]),
    instance_types(SMALL, LARGE),
)


@st.composite
def worlds(draw: st.DrawFn) -> list[Raw]:
    documents = []
    for number in range(draw(st.integers(1, 2))):
        labels = {"app": f"w{number}"}
        inner = spec(draw(st.sampled_from(["800m", "1", "1500m"])))
        below = draw(st.sampled_from(["", "10", "30"]))
        if below:
            inner["tolerations"] = [{"key": "spot", "operator": "Lt", "value": below, "effect": "NoSchedule"}]
        rule = draw(st.integers(0, 3))
        if rule == 1:
            term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}
            inner["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        elif rule >= 2:
            spread: Raw = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
            spread |= {"minDomains": 2} if rule == 3 and below == "30" else {}
            inner["topologySpreadConstraints"] = [{**spread, "labelSelector": {"matchLabels": labels}}]
        template = {"metadata": {"labels": labels}, "spec": inner}
        body = {"replicas": draw(st.integers(1, 3)), "selector": {"matchLabels": labels}, "template": template}
        about = {"name": f"w{number}", "namespace": "default"}
        documents.append({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": about, "spec": body})
    return documents


def plan_leaves(documents: list[Raw], nodes: list[Raw]) -> int:
    """How many pods are Pending when the input is planned with these nodes, from its beginning."""
    planner = planner_of(*documents, *nodes)
    return len(planner.plan(planner.build()).pending)


def cheapest_planned(documents: list[Raw], pools: Pools, below: float) -> float | None:
    """Return the cost of the cheapest mix below a cost that leaves nothing Pending, by planning all of them."""
    templates = [template for pool in pools.pools for template in pool.templates]
    heap: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for cost, chosen in sorted(_mixes(heap, [one.price or 0.0 for one in templates], below)):
        nodes = [templates[index].node(f"n{number}") for number, index in enumerate(chosen)]
        if not plan_leaves(documents, nodes):
            return cost
    return None


def _mixes(
    known: list[tuple[float, tuple[int, ...]]], prices: list[float], below: float
) -> list[tuple[float, tuple[int, ...]]]:
    """Return every mix whose cost is below this one."""
    for cost, chosen in known:
        for index in range(chosen[-1] if chosen else 0, len(prices)):
            if cost + prices[index] < below - NEAR:
                known.append((cost + prices[index], (*chosen, index)))
    return known


def law_of_plans(most: int = examples(8), fitting: Callable[[FitWorld, Pools], Fitted] | None = None) -> None:
    pools = pools_of(*POOLS)

    @settings(LAW_SETTINGS, max_examples=most)
    @given(worlds())
    def law(documents: list[Raw]) -> None:
        planner = planner_of(*documents)
        fitted = (fitting or (lambda world, pools: fit(world, pools.pools)))(
            FitWorld(planner, keeps_nodes=False), pools
        )
        assert fitted.played is not None
        manifests = json.loads(json.dumps(manifests_of(fitted)))
        assert plan_leaves(documents, manifests) == 0
        assert fitted.bound <= fitted.cost + NEAR
        if fitted.is_exact and fitted.cost < 0.22:
            assert cheapest_planned(documents, pools, fitted.cost) is None

    law()


def test_every_mix_passes_a_plan_and_none_that_is_cheaper_does() -> None:
    law_of_plans()


def test_mixes_of_the_model_that_were_not_planned_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def unplanned(self: MixTrials, nodes: Ints) -> Played:
        played = self.play(nodes)
        played.waiting.waiting.clear()
        return played

    monkeypatch.setattr(MixTrials, "repaired", unplanned)
    assert_notices(lambda: law_of_plans(60))


def test_a_mix_that_is_said_to_be_the_cheapest_and_is_not_would_be_noticed() -> None:
    def dear(world: FitWorld, pools: Pools) -> Fitted:
        fitted = fit(world, pools.pools)
        assert fitted.played is not None
        nodes = fitted.played.nodes.copy()
        nodes[int(np.flatnonzero(nodes)[0])] += 1
        fitted.played = Played(nodes, fitted.played.simulation, fitted.played.waiting)
        fitted.cost = float(fitted.shapes.problem.prices @ nodes) if fitted.shapes is not None else 0.0
        fitted.is_exact = True
        return fitted

    assert_notices(lambda: law_of_plans(20, dear))
