"""What explain says of a bare pod is what becomes of it in a cluster: its node, or the reason why it has none."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_worlds import Dimension, World, worlds
from tests.laws.world_in_cluster import picture_of_cluster
from tests.laws.world_picture import EVICTED, ON_NODE, PENDING, REFUSED, Line, subject_of

from moorage.plan.explain.explanation import explain_pod
from moorage.plan.explain.sentence.standings import Standing
from moorage.plan.explain.target import TargetError, find_target
from moorage.plan.planner import Planner, Settings

#: Long enough for every pod that waits to be tried again.
SECONDS = 400.0
#: Explain shows a pod in its turn; evictions and preemptions come later, and quotas depend on who comes first.
DIMENSIONS = frozenset(
    {
        Dimension.LIMIT_RANGES,
        Dimension.POD_SECURITY,
        Dimension.NODE_NAMES,
        Dimension.RUNNING_PODS,
        Dimension.QUOTAS,
    }
)
_STATES = {
    Standing.BOUND: ON_NODE,
    Standing.FITS: ON_NODE,
    Standing.PENDING: PENDING,
    Standing.FAILED: "Failed",
    Standing.EVICTED: EVICTED,
}
#: Kind, namespace and name of a pod → its state, its node if it has one, and why not.
Answers = dict[str, tuple[str, str, str]]


def bare_pods(world: World) -> list[str]:
    return [subject_of(document) for document in world.documents if document["kind"] == "Pod"]


def explained(world: World) -> Answers:
    """Explain each pod in a simulation of its own: the search for its turn changes the cluster."""
    return {pod: _explained(world, pod) for pod in bare_pods(world)}


def _explained(world: World, pod: str) -> tuple[str, str, str]:
    planner = Planner(Settings(world.gates, others=world.others))
    planner.load_objects(world.documents)
    simulation = planner.build()
    name = pod.removeprefix("Pod ")
    try:
        target = find_target(simulation, planner.inventory, name)
    except TargetError as error:
        return REFUSED, "", str(error).partition(" was refused: ")[2]
    explanation = explain_pod(simulation, planner.inventory, target)
    state = _STATES[explanation.standing]
    if state == ON_NODE:
        return state, explanation.node, ""
    return state, "", explanation.message


def happened(world: World) -> Answers:
    lines = {line.workload: line for line in picture_of_cluster(world, SECONDS).lines}
    return {pod: _answer(lines[pod]) for pod in bare_pods(world)}


def _answer(line: Line) -> tuple[str, str, str]:
    return (line.state, line.node, "") if line.state == ON_NODE else (line.state, "", line.message)


def law_of_explanations(
    explain: Callable[[World], Answers], dimensions: frozenset[Dimension] = DIMENSIONS, most: int = 60
) -> None:
    @settings(LAW_SETTINGS, max_examples=examples(most))
    @given(worlds(dimensions))
    def law(world: World) -> None:
        assert explain(world) == happened(world)

    law()


def test_explain_says_what_becomes_of_a_pod_in_a_cluster() -> None:
    law_of_explanations(explained)


def test_explain_names_features_that_nodes_do_not_declare() -> None:
    law_of_explanations(explained, frozenset({Dimension.DECLARED_FEATURES, Dimension.NODE_NAMES}), 30)


def test_explanations_that_ignore_the_pods_that_run_already_are_noticed() -> None:
    def careless(world: World) -> Answers:
        """Explain the pods as if those that run already asked for nothing."""
        documents = []
        for one in world.documents:
            if one["kind"] == "Pod" and "uid" in one["metadata"]:
                one = {**one, "spec": {**one["spec"], "containers": [{"name": "c", "image": "i:1"}]}}
            documents.append(one)
        return explained(world._replace(documents=documents))

    assert_notices(lambda: law_of_explanations(careless, most=600))
