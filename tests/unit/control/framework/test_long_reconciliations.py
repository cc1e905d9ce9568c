"""Controllers of many pods pause while they look at them, and plan the same as in one go."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.controller_context import controller_context

from moorage.client.protocol import Object
from moorage.control.framework.actions import Plan, Question
from moorage.control.framework.controller import Controller
from moorage.control.framework.steps import Steps
from moorage.control.framework.world import World
from moorage.control.job.controller import JobController
from moorage.control.namespace import NamespaceController
from moorage.control.replica_set import ReplicaSetController
from moorage.control.resource_quota import ResourceQuotaController
from moorage.control.stateful_set.controller import StatefulSetController
from moorage.model.kinds import KINDS, Kind

Raw = dict[str, Any]
PODS = 1_000
LABELS = {"app": "web"}
TEMPLATE: Raw = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "app"}]}}


def _object(kind: Kind, name: str, metadata: Raw | None = None, **parts: Any) -> Object:
    namespace = {"namespace": "default"} if kind.namespaced else {}
    whole = {"name": name, "uid": name, **namespace, **(metadata or {})}
    document = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": whole, **parts}
    return Object(kind, f"default/{name}" if kind.namespaced else name, 1, raw=document)


def _pod(number: int, owner: Kind) -> Object:
    reference = {"apiVersion": owner.api_version, "kind": owner.name, "name": "web", "uid": "web", "controller": True}
    labels = {**LABELS, "statefulset.kubernetes.io/pod-name": f"web-{number}"}
    requests = {"resources": {"requests": {"memory": "1Mi"}}, "name": "c", "image": "app"}
    metadata = {"labels": labels, "ownerReferences": [reference]}
    spec = {"containers": [requests], "nodeName": f"n{number % 7}"}
    return _object(KINDS.POD, f"web-{number}", metadata, spec=spec, status={"phase": "Running"})


def _world(*objects: Object, owner: Kind) -> World:
    world = World()
    for found in (*objects, *(_pod(number, owner) for number in range(PODS))):
        world.put(found.kind, None, found)
    return world


def _owner(kind: Kind, **spec: Any) -> Object:
    return _object(kind, "web", spec={"selector": {"matchLabels": LABELS}, "template": TEMPLATE, **spec})


def _revised(world: World, controller: Controller) -> World:
    """Add the revision that a StatefulSet makes first."""
    (made, *_) = controller.reconcile("default/web", world, 0.0).actions
    document = getattr(made, "document")  # noqa: B009, of a Create
    revision = {**document, "metadata": {**document["metadata"], "namespace": "default", "uid": "r"}}
    name = revision["metadata"]["name"]
    world.put(KINDS.CONTROLLER_REVISION, None, Object(KINDS.CONTROLLER_REVISION, f"default/{name}", 1, raw=revision))
    return world


def _replica_set() -> tuple[type[Controller], str, World]:
    return ReplicaSetController, "default/web", _world(_owner(KINDS.REPLICA_SET, replicas=3), owner=KINDS.REPLICA_SET)


def _stateful_set() -> tuple[type[Controller], str, World]:
    owner = _owner(KINDS.STATEFUL_SET, replicas=PODS, serviceName="web", podManagementPolicy="Parallel")
    world = _world(owner, owner=KINDS.STATEFUL_SET)
    return StatefulSetController, "default/web", _revised(world, StatefulSetController(controller_context()))


def _job() -> tuple[type[Controller], str, World]:
    owner = _owner(KINDS.JOB, parallelism=PODS, completions=PODS, backoffLimit=6)
    return JobController, "default/web", _world(owner, owner=KINDS.JOB)


def _quota() -> tuple[type[Controller], str, World]:
    quota = _object(KINDS.RESOURCE_QUOTA, "quota", spec={"hard": {"requests.memory": "1Ti"}})
    return ResourceQuotaController, "default/quota", _world(quota, owner=KINDS.REPLICA_SET)


def _taken(steps: Steps[Plan]) -> tuple[int, Plan]:
    taken = 0
    while True:
        try:
            next(steps)
        except StopIteration as done:
            plan: Plan = done.value
            return taken, plan
        taken += 1


@pytest.mark.parametrize("make", [_replica_set, _stateful_set, _job, _quota])
def test_many_pods_are_looked_at_in_steps(make: Callable[[], tuple[type[Controller], str, World]]) -> None:
    controller, key, world = make()
    taken, plan = _taken(controller(controller_context()).steps(key, world, 0.0))
    assert taken >= PODS // 64
    assert plan.actions
    assert plan == controller(controller_context()).reconcile(key, world, 0.0)


def test_the_content_of_a_namespace_is_looked_at_in_steps() -> None:
    deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    namespace = _object(KINDS.NAMESPACE, "default", deleted, spec={"finalizers": ["kubernetes"]})
    world = _world(namespace, owner=KINDS.REPLICA_SET)
    controller = NamespaceController(controller_context())
    pods = list(world.all(KINDS.POD))
    answers = {Question(KINDS.POD, "default"): pods}
    taken, plan = _taken(controller.decide_in_steps("default", world, answers, 0.0))
    assert taken >= PODS // 64
    assert len(plan.actions) == PODS
    assert plan == controller.decide("default", world, answers, 0.0)
