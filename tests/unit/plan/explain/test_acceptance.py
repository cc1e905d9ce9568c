"""Suggestions pass admission and are printed so that they do; nodes are ranked by the number of reasons in the way."""

from __future__ import annotations

from typing import Any

import yaml
from tests.objects import taint
from tests.unit.plan.explaining import explained, told
from tests.unit.plan.planning import Raw, node, pod
from tests.unit.plan.test_explanation_suggestions import expression, requires

from moorage.admit.admission import Rejected, admit
from moorage.admit.chain import Admission
from moorage.admit.objects_world import ObjectsWorld
from moorage.model.gates import GateSet, default_gates, gates_from
from moorage.model.kinds import KINDS, view_of
from moorage.plan.explain.explanation import plain
from moorage.plan.explain.remedies.acceptance import AdmissionCheck
from moorage.plan.explain.remedies.change import Change, ChangeKind, with_spec
from moorage.plan.explain.text import ExplanationText

ALPHA = gates_from({"AllAlpha": True})


def asking(*containers: Raw, **fields: Any) -> Raw:
    made = [{"name": f"c{number}", "image": "i", "resources": one} for number, one in enumerate(containers)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": made, **fields}}


def with_amounts(name: str, **amounts: str) -> Raw:
    made = node(name)
    made["status"]["capacity"] |= {key.replace("_", "/"): value for key, value in amounts.items()}
    return made


def admitted(raw: Raw, gates: GateSet) -> Any:
    result = admit(raw, None, gates)
    assert not isinstance(result, Rejected)
    return view_of(result.object)


def test_a_request_of_gpus_is_printed_with_its_limit() -> None:
    (first, *_) = explained(with_amounts("a", **{"x.y_gpu": "2"}), asking({"limits": {"x.y/gpu": "4"}})).suggestions
    amounts = {"x.y/gpu": "2"}
    assert yaml.safe_load(first.change.yaml) == {
        "containers": [{"name": "c0", "resources": {"requests": amounts, "limits": amounts}}]
    }


def test_several_containers_are_lowered_in_one_document() -> None:
    half = {"requests": {"cpu": "5"}}
    (first, *_) = explained(node("a"), asking(half, half, half)).suggestions
    written = yaml.safe_load(first.change.yaml)["containers"]
    assert sum(float(one["resources"]["requests"]["cpu"].replace("m", "e-3")) for one in written) <= 4


def test_a_label_that_the_api_server_refuses_is_not_suggested() -> None:
    below_zero = requires(expression("gen", "Lt", "0"))
    found = told(explained(node("a"), pod("p", affinity=below_zero)))
    assert list(found) == ["required node affinity: prefer gen Lt 0 instead of requiring it"]
    assert "label node a with gen=4" in told(
        explained(node("a"), pod("p", affinity=requires(expression("gen", "Lt", "5"))))
    )


def test_what_needs_a_gate_that_is_off_in_the_api_server_is_not_suggested() -> None:
    """A pod of an earlier time, whose threshold the scheduler still understands: it cannot be recreated."""
    old = admitted(pod("p"), default_gates())
    toleration = {"key": "sla", "operator": "Gt", "value": "1"}
    new = admitted(pod("p", tolerations=[toleration]), ALPHA)
    change = Change(ChangeKind.TOLERATION, "t", "t", 1, pod=with_spec(old, tolerations=new.spec.tolerations))
    by_default, with_gates = (Admission(ObjectsWorld(), gates) for gates in (default_gates(), ALPHA))
    assert AdmissionCheck(old, by_default, lambda kind, key: None)(change) is None
    accepted = AdmissionCheck(old, with_gates, lambda kind, key: None)(change)
    assert accepted is not None
    # What it has already does not count against a change.
    assert AdmissionCheck(new, by_default, lambda kind, key: None)(change) is not None


def limits(**item: Any) -> Raw:
    spec = {"limits": [{"type": "Container", **item}]}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": spec}


def test_a_request_below_the_minimum_of_a_limit_range_is_not_suggested() -> None:
    found = told(explained(limits(min={"cpu": "5"}), node("a"), asking({"requests": {"cpu": "6"}})))
    assert not [text for text in found if "cpu" in text]
    allowed = told(explained(limits(min={"cpu": "3"}), node("a"), asking({"requests": {"cpu": "6"}})))
    assert [text for text in allowed if "cpu 6 → at most 4" in text]


def quota(**hard: str) -> Raw:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}


def test_a_change_takes_the_room_of_the_pod_in_a_quota() -> None:
    """The quota is full with the pod as it is; the changed pod replaces it."""
    full = quota(pods="1", **{"requests.cpu": "6"})
    found = told(explained(full, node("a"), asking({"requests": {"cpu": "6"}})))
    assert [text for text in found if "cpu 6 → at most 4" in text]


def test_a_change_beyond_a_quota_is_not_accepted() -> None:
    small = admitted(asking({"requests": {"cpu": "1"}}), ALPHA)
    large = admitted(asking({"requests": {"cpu": "3"}}), ALPHA)
    hard = {"requests.cpu": "2"}
    view = view_of({**quota(**hard), "status": {"hard": hard, "used": {"requests.cpu": "0"}}})
    world = ObjectsWorld()
    world.put(KINDS.RESOURCE_QUOTA, "default/q", view)
    change = Change(ChangeKind.TOLERATION, "t", "t", 1, pod=large)
    assert AdmissionCheck(small, Admission(world, ALPHA), lambda kind, key: None)(change) is None
    assert AdmissionCheck(small, Admission(ObjectsWorld(), ALPHA), lambda kind, key: None)(change) is not None


# -- distance ---------------------------------------------------------------------------------------------------------


def test_nodes_are_ranked_by_the_number_of_reasons() -> None:
    three = node("three", taints=[taint("a"), taint("b"), taint("c")])
    two = with_amounts("two", cpu="1", memory="1Gi")
    one = node("one", taints=[taint("z")])
    explanation = explained(three, two, one, asking({"requests": {"cpu": "2", "memory": "2Gi"}}))
    text = "\n".join(ExplanationText().lines(explanation))
    places = [
        text.index(f"\n  {head}") for head in ("one  one reason away", "two  2 reasons away", "three  3 reasons away")
    ]
    assert places == sorted(places)
    assert text.count("one reason away") == 1
    assert [(group["nodes"], group["distance"]) for group in plain(explanation)["refused"]] == [
        (["one"], 1),
        (["two"], 2),
        (["three"], 3),
    ]
