"""DefaultTolerationSeconds and Priority."""

import copy
from typing import Any

import pytest
from tests.unit.admit.objects import Raw, document, pod

from moorage.admit.admission import Admitted, Rejected, admit
from moorage.admit.chain import Admission
from moorage.admit.objects_world import ObjectsWorld
from moorage.admit.plugins import Forbidden
from moorage.admit.plugins.priority import Priority
from moorage.admit.plugins.standard import DefaultTolerationSeconds
from moorage.model.gates import TAINT_TOLERATION_CEL, default_gates
from moorage.model.kinds import KINDS
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.policy import PriorityClass
from moorage.model.well_known.taints import NOT_READY, UNREACHABLE

GATES = default_gates().with_gate(TAINT_TOLERATION_CEL, True)


def world(*classes: PriorityClass) -> ObjectsWorld:
    return ObjectsWorld.of(((KINDS.PRIORITY_CLASS, one) for one in classes), is_complete=True)


def admitted(raw: Raw) -> Raw:
    answer = Admission(ObjectsWorld(), GATES).admit(raw)
    assert isinstance(answer, Admitted)
    answer.object["metadata"]["resourceVersion"] = "1"
    return answer.object


def seconds(key: str) -> Raw:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}


@pytest.mark.parametrize(
    ("tolerations", "added"),
    [
        (None, [NOT_READY, UNREACHABLE]),
        ([], [NOT_READY, UNREACHABLE]),
        ([{"operator": "Exists"}], []),
        ([{"operator": "Exists", "effect": "NoExecute"}], []),
        ([{"operator": "Exists", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
        ([{"key": NOT_READY, "operator": "Exists", "effect": "NoExecute"}], [UNREACHABLE]),
        ([{"key": UNREACHABLE, "operator": "Exists"}], [NOT_READY]),
        ([{"key": "other", "operator": "Exists"}], [NOT_READY, UNREACHABLE]),
        # An expression has neither key nor effect, and yet does not tolerate everything.
        ([{"expression": "taint.key == 'gpu'"}], [NOT_READY, UNREACHABLE]),
        ([{"expression": "true"}], [NOT_READY, UNREACHABLE]),
    ],
)
def test_default_toleration_seconds(tolerations: list[Raw] | None, added: list[str]) -> None:
    given = copy.deepcopy(tolerations)
    made: Raw = {"spec": {"tolerations": given}}
    DefaultTolerationSeconds().admit(KINDS.POD, made, None)
    assert made["spec"]["tolerations"] == ([*(tolerations or []), *map(seconds, added)] if added else tolerations)


def test_default_tolerations_are_for_pods_only() -> None:
    made: Raw = {"spec": {"template": {"spec": {}}}}
    DefaultTolerationSeconds().admit(KINDS.DEPLOYMENT, made, None)
    assert made == {"spec": {"template": {"spec": {}}}}


def test_both_run_in_the_chain_and_not_in_its_pure_core() -> None:
    made = pod(tolerations=[{"expression": "taint.key == 'gpu'"}])
    chain = Admission(ObjectsWorld(), GATES)
    for answer, priority, count in ((chain.admit(made), 0, 3), (admit(made, None, GATES), None, 1)):
        assert isinstance(answer, Admitted)
        spec = answer.object["spec"]
        assert (spec.get("priority"), len(spec["tolerations"])) == (priority, count)


def priority_class(name: str, value: int, **fields: Any) -> PriorityClass:
    return PriorityClass(metadata=ObjectMeta(name=name), value=value, **{"preemptionPolicy": "Never", **fields})


CLASSES = (
    priority_class("high", 1000),
    priority_class("usual", 10, globalDefault=True),
    priority_class("other-default", 20, globalDefault=True),
)


@pytest.mark.parametrize(
    ("classes", "spec", "expected"),
    [
        ((), {}, {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}),
        (
            (),
            {"priorityClassName": "system-node-critical"},
            {
                "priorityClassName": "system-node-critical",
                "priority": 2000001000,
                "preemptionPolicy": "PreemptLowerPriority",
            },
        ),
        (
            CLASSES,
            {"priorityClassName": "high", "priority": 1000},
            {"priorityClassName": "high", "priority": 1000, "preemptionPolicy": "Never"},
        ),
        (CLASSES, {}, {"priorityClassName": "usual", "priority": 10, "preemptionPolicy": "Never"}),
        (
            (priority_class("plain", 5, preemptionPolicy=None),),
            {"priorityClassName": "plain"},
            {"priorityClassName": "plain", "priority": 5},
        ),
    ],
)
def test_priority(classes: tuple[PriorityClass, ...], spec: Raw, expected: Raw) -> None:
    made: Raw = {"spec": dict(spec)}
    Priority(world(*classes)).admit(KINDS.POD, made, None)
    assert made["spec"] == expected


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        (
            {"priorityClassName": "high", "priority": 5},
            "the integer value of priority (5) must not be provided in pod spec; priority admission controller "
            "computed 1000 from the given PriorityClass name",
        ),
        (
            {"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"},
            "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority "
            "admission controller computed Never from the given PriorityClass name",
        ),
    ],
)
def test_priority_refuses(spec: Raw, reason: str) -> None:
    answer = admit(pod(**spec), None, GATES, plugins=(Priority(world(*CLASSES)),))
    assert isinstance(answer, Rejected)
    assert answer.forbidden == reason
    assert answer.status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'pods "p" is forbidden: {reason}',
        "reason": "Forbidden",
        "details": {"name": "p", "kind": "pods"},
        "code": 403,
    }


def test_an_update_keeps_what_was_computed() -> None:
    old = admitted(pod())
    new = copy.deepcopy(old)
    for name in ("priority", "preemptionPolicy"):
        del new["spec"][name]
    answer = Admission(ObjectsWorld(), GATES).admit(new, old)
    assert isinstance(answer, Admitted)
    assert answer.object["spec"] == old["spec"]


def test_there_is_one_global_default() -> None:
    plugin = Priority(world(priority_class("usual", 10, globalDefault=True)))
    made = document("PriorityClass", "second", value=1, globalDefault=True)
    with pytest.raises(Forbidden, match="PriorityClass usual is already marked as default"):
        plugin.validate(KINDS.PRIORITY_CLASS, made, None)
    same = document("PriorityClass", "usual", value=10, globalDefault=True)
    plugin.validate(KINDS.PRIORITY_CLASS, same, same)
    Priority(world()).validate(KINDS.PRIORITY_CLASS, made, None)


def test_what_is_invalid_anyway_is_told_before_that_there_is_a_global_default() -> None:
    plugin = Priority(world(priority_class("usual", 10, globalDefault=True)))
    for name, reason in (("second", "Forbidden"), ("Bad_", "Invalid")):
        made = document("PriorityClass", name, value=1, globalDefault=True)
        answer = admit(made, None, GATES, plugins=(plugin,))
        assert isinstance(answer, Rejected)
        assert answer.status["reason"] == reason


@pytest.mark.parametrize(
    ("metadata", "name"), [({"name": "p"}, "p"), ({"generateName": "web-"}, "web-"), ({}, "Unknown"), (None, "Unknown")]
)
def test_a_refused_pod_has_no_generated_name_yet(metadata: Raw | None, name: str) -> None:
    chain = Admission(ObjectsWorld(is_complete=True), GATES)
    answer = chain.admit({**pod(priorityClassName="none"), "metadata": metadata})
    assert isinstance(answer, Rejected)
    assert answer.status["message"].startswith(f'pods "{name}" is forbidden: no PriorityClass with name none')
