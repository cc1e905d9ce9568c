"""The gates of a live cluster: what its metrics tell, what is assumed, and what is said of it."""

import pytest

from moorage.model import gates as known
from moorage.model.gates import GATES, Component, default_gates, gates_from
from moorage.plan.input.live_gates import LiveGates, gate_notes, gates_in, gates_to_plan_with
from moorage.telemetry.metrics import Metrics, add_feature_metrics

API, SCHEDULER, MANAGER, KUBELET = Component
NUMBERS, CEL = known.TAINT_TOLERATION_COMPARISON_OPERATORS, known.TAINT_TOLERATION_CEL
#: As kube-apiserver prints it: no component, gates that Moorage does not know, and not all that it does.
KUBERNETES = f"""
# TYPE kubernetes_feature_enabled gauge
kubernetes_feature_enabled{{name="WatchList",stage="BETA"}} 1
kubernetes_feature_enabled{{name="{NUMBERS.name}",stage="ALPHA"}} 1
kubernetes_feature_enabled{{name="APIResponseCompression",stage="BETA"}} 0
"""


def of_moorage(**settings: str) -> LiveGates:
    """What `moorage up` tells with these gates of components."""
    metrics = Metrics()
    switched = {component: default_gates() for component in Component}
    for component, name in settings.items():
        switched[Component[component]] = gates_from({name: True})
    add_feature_metrics(metrics, switched)
    return gates_in({API: metrics.render()[0].decode()})


def notes(live: LiveGates, **wanted: bool) -> list[str]:
    return [f"{note.level.value}: {note.message}" for note in gate_notes(live, wanted)]


def test_each_component_has_its_own() -> None:
    live = of_moorage(API_SERVER=NUMBERS.name, SCHEDULER=NUMBERS.name)
    found = gates_to_plan_with(live, {})
    assert [found[component].enabled(NUMBERS) for component in Component] == [True, True, False, False]
    assert found[MANAGER] == default_gates()
    said = notes(live)
    assert said[0] == (
        f"info: as the cluster has them: {NUMBERS.name} on in kube-apiserver and kube-scheduler, "
        "off in kube-controller-manager and kubelet"
    )
    assert said[1].startswith(
        f"warning: half enabled: {NUMBERS.name} is on in kube-apiserver and kube-scheduler, off in"
    )
    assert notes(of_moorage()) == ["info: as the cluster has them: all at their defaults"]


def test_a_component_that_does_not_tell_is_as_the_api_server() -> None:
    live = gates_in({API: KUBERNETES})
    found = gates_to_plan_with(live, {})
    assert set(found.values()) == {gates_from({NUMBERS.name: True})}
    assert notes(live) == [
        f"info: as the cluster has them: {NUMBERS.name} on",
        "info: kube-scheduler, kube-controller-manager and kubelet do not tell: taken to be the API server's; "
        "--scrape URL asks a component",
    ]


def test_a_cluster_that_does_not_tell_has_the_defaults() -> None:
    live = gates_in({}, ["the API server's metrics cannot be read: forbidden"])
    assert set(gates_to_plan_with(live, {}).values()) == {default_gates()}
    assert notes(live) == [
        "warning: the API server's metrics cannot be read: forbidden",
        "warning: the cluster does not tell them: the defaults are assumed; --feature-gates sets others",
    ]


@pytest.mark.parametrize("on", [True, False])
def test_the_command_line_wins_and_the_difference_is_said(on: bool) -> None:
    live = of_moorage(SCHEDULER=CEL.name)
    found = gates_to_plan_with(live, {CEL.name: on})
    assert [found[component].enabled(CEL) for component in Component] == [on] * 4
    here, there, where = (
        ("on", "off", "kube-apiserver, kube-controller-manager and kubelet") if on else ("off", "on", "kube-scheduler")
    )
    said = f"warning: {CEL.name} is {here} here, as --feature-gates says, but {there} in the cluster ({where})"
    assert said in notes(live, **{CEL.name: on})


def test_gates_are_in_the_order_of_the_table_whatever_the_metrics_have() -> None:
    backwards = "\n".join(
        f'kubernetes_feature_enabled{{name="{gate.name}",component="{component}"}} 1'
        for gate in reversed(GATES)
        for component in ("kubelet", "kube-apiserver")
    )
    values = gates_in({"x": f'kubernetes_feature_enabled{{name="Zeta"}} 1\n{KUBERNETES}\n{backwards}'}).values
    names = [gate.name for gate in GATES]
    assert list(values) == [*names, "APIResponseCompression", "WatchList", "Zeta"]
    assert all(list(row) == sorted(row) for row in values.values())
