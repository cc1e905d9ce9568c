"""The admission chain: the same plugins for every world, and worlds that do not know everything."""

from typing import Any

import pytest
from tests.unit.admit.objects import Raw, document, pod

from moorage.admit.admission import Admitted, Mutated, Rejected
from moorage.admit.chain import Admission
from moorage.admit.objects_world import ObjectsWorld
from moorage.admit.request import ANY_REQUEST
from moorage.model.api_error import ApiError
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS, Kind, kind_of, view_of

GATES = default_gates()
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}


def chain_of(*documents: Raw, is_complete: bool = False) -> Admission:
    views = ((kind_of(one) or KINDS.POD, view_of(one)) for one in documents)
    return Admission(ObjectsWorld.of(views, is_complete=is_complete), GATES)


def namespace(name: str, **metadata: Any) -> Raw:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **metadata}}


def limit_range(**item: Any) -> Raw:
    made = document("LimitRange", spec={"limits": [{"type": "Container", **item}]})
    made["metadata"]["namespace"] = "default"
    return made


def pod_in(namespace: str, **spec: Any) -> Raw:
    made = pod(**spec)
    made["metadata"]["namespace"] = namespace
    return made


def refusal(result: Admitted | Rejected) -> str:
    assert isinstance(result, Rejected)
    return str(result.status["message"])


def assumed(result: Admitted | Rejected) -> list[str]:
    assert isinstance(result, Admitted), result.status["message"]
    return [assumption.text for assumption in result.assumptions]


@pytest.mark.parametrize(
    ("new", "text"),
    [
        (
            pod_in("gone"),
            "namespace gone is not in the input; the API server refuses pods in namespaces that do not exist",
        ),
        (
            {**document("ConfigMap"), "metadata": {"name": "c", "namespace": "gone"}},
            "namespace gone is not in the input; the API server refuses objects in namespaces that do not exist",
        ),
        (
            pod(priorityClassName="high"),
            "PriorityClass high is not in the input; the API server refuses pods that name one that does not exist; "
            "here the pods have the priority that they name, or 0",
        ),
        (
            pod(runtimeClassName="gvisor", overhead={"cpu": "1"}),
            "RuntimeClass gvisor is not in the input; the API server refuses pods that name one that does not exist; "
            "here it adds nothing to the pods",
        ),
    ],
)
def test_what_the_input_does_not_have_is_assumed_and_noted_once(new: Raw, text: str) -> None:
    chain = chain_of()
    assert assumed(chain.admit(new)) == [text]
    assert assumed(chain.admit(new)) == []


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (pod_in("gone"), 'namespaces "gone" not found'),
        (pod(priorityClassName="high"), 'pods "p" is forbidden: no PriorityClass with name high was found'),
        (pod(runtimeClassName="r"), 'pods "p" is forbidden: pod rejected: RuntimeClass "r" not found'),
    ],
)
def test_what_a_whole_cluster_does_not_have_is_refused(new: Raw, message: str) -> None:
    assert refusal(chain_of(is_complete=True).admit(new)) == message


def test_every_cluster_has_some_namespaces_and_priority_classes() -> None:
    for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
        for is_complete in (False, True):
            new = pod_in(name, priorityClassName="system-node-critical")
            assert assumed(chain_of(is_complete=is_complete).admit(new)) == []


def test_an_assumed_priority_class_has_the_priority_that_the_pod_names() -> None:
    cases: tuple[tuple[Raw, int], ...] = (({}, 0), ({"priority": 7}, 7))
    for given, expected in cases:
        result = chain_of().admit(pod(priorityClassName="high", **given))
        assert isinstance(result, Admitted)
        assert result.object["spec"]["priority"] == expected


def test_pod_security_and_limit_ranges_refuse_as_the_server_does() -> None:
    chain = chain_of(namespace("strict", labels=RESTRICTED), limit_range(min={"cpu": "5"}))
    assert refusal(chain.admit(pod_in("strict"))).startswith(
        'pods "p" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false'
    )
    small = pod(containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": "4"}}}])
    assert refusal(chain.admit(small)) == (
        'pods "p" is forbidden: minimum cpu usage per Container is 5, but request is 4'
    )


def test_a_world_hears_of_writes_and_deletions() -> None:
    chain = chain_of(is_complete=True)
    world = chain.world
    assert isinstance(world, ObjectsWorld)
    view, before = view_of(namespace("late")), world.generation
    world.put_view(KINDS.NAMESPACE, view)
    assert isinstance(chain.admit(pod_in("late")), Admitted)
    assert chain.still_admits(KINDS.POD, pod_in("late"))
    world.drop(KINDS.NAMESPACE, "late")
    assert world.generation == before + 2
    assert refusal(chain.admit(pod_in("late"))) == 'namespaces "late" not found'
    assert not chain.still_admits(KINDS.POD, pod_in("late"))


def test_the_two_phases_give_what_one_call_does() -> None:
    chain = chain_of()
    mutated = chain.mutate(KINDS.POD, pod(), None, ANY_REQUEST, copies=True)
    assert isinstance(mutated, Mutated)
    assert chain.validate(mutated) == chain.admit(pod())


def test_quotas_are_charged_last() -> None:
    quota = document("ResourceQuota", "q", spec={"hard": {"pods": "1"}})
    quota["metadata"]["namespace"] = "default"
    quota["status"] = {"hard": {"pods": "1"}, "used": {"pods": "0"}}
    chain = chain_of(quota)
    view = view_of(pod())

    def charged(kind: Kind = KINDS.POD) -> list[str]:
        return [charge.quota for charge in chain.charges(kind, "default", "p", view, now=0.0)]

    assert charged() == ["q"]
    quota["status"]["used"]["pods"] = "1"
    assert isinstance(chain.world, ObjectsWorld)
    chain.world.put_view(KINDS.RESOURCE_QUOTA, view_of(quota))
    with pytest.raises(ApiError, match="exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"):
        charged()
