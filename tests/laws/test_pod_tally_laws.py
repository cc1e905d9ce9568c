"""Pods that are counted as they change are as many as those that are counted one by one, and so are statuses."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.controller_context import controller_context
from tests.laws.falsify import LAW_SETTINGS, assert_notices

from moorage.client.protocol import Object
from moorage.control.disruption import DisruptionController
from moorage.control.framework.actions import Update
from moorage.control.framework.pod_tally import PodFacts, facts_for_budgets, facts_for_owner
from moorage.control.framework.world import World
from moorage.control.replica_set import ReplicaSetController
from moorage.model.go.times import seconds_of, time_text
from moorage.model.kinds import KINDS, Kind

Raw = dict[str, Any]
OWNERS, NAMESPACES = ("web", "api"), ("default", "other")
NOW = 1_800_000_000.0


def _object(kind: Kind, raw: Raw) -> Object:
    metadata = raw["metadata"]
    document = {"apiVersion": kind.api_version, "kind": kind.name, **raw}
    return Object(kind, f"{metadata['namespace']}/{metadata['name']}", metadata.get("generation", 1), raw=document)


def _owner(name: str, namespace: str, replicas: int) -> Object:
    labels = {"app": name}
    metadata = {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}", "generation": 1}
    template = {"metadata": {"labels": labels}, "spec": {"containers": []}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, "minReadySeconds": 30}
    return _object(KINDS.REPLICA_SET, {"metadata": metadata, "spec": spec})


def _budget(number: int, namespace: str, random: Random) -> Object:
    bound: Raw = random.choice([{"minAvailable": 2}, {"minAvailable": "50%"}, {"maxUnavailable": 1}])
    expression = {"key": "app", "operator": "In", "values": ["web"]}
    selector = random.choice([{}, {"matchLabels": {"app": "web"}}, {"matchExpressions": [expression]}])
    metadata = {"name": f"b{number}", "namespace": namespace, "uid": f"b{number}", "generation": 1}
    granted = {f"p{n}": time_text(NOW - random.choice([10, 500])) for n in random.sample(range(6), 2)}
    status = {"disruptedPods": granted}
    return _object(
        KINDS.POD_DISRUPTION_BUDGET, {"metadata": metadata, "spec": {"selector": selector, **bound}, "status": status}
    )


def _pod(name: str, namespace: str, random: Random) -> Object:
    owner = random.choice([*OWNERS, ""])
    metadata: Raw = {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}"}
    metadata["labels"] = random.choice([{"app": owner or "web"}, {"app": "web", "tier": "x"}, {}])
    if owner:
        uid = f"{namespace}-{owner}"
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": uid, "controller": True}
        metadata["ownerReferences"] = [reference]
    if random.random() < 0.2:
        metadata["deletionTimestamp"] = time_text(NOW)
    ready = {"type": "Ready", "status": random.choice(["True", "True", "False"])}
    ready["lastTransitionTime"] = time_text(NOW - random.choice([0, 10, 29, 30, 31, 100]))
    status = {
        "phase": random.choice(["Running", "Running", "Pending", "Failed"]),
        "conditions": [ready][: random.randint(0, 3)],
    }
    return _object(KINDS.POD, {"metadata": metadata, "spec": {"containers": []}, "status": status})


def _changes(random: Random, world: World) -> None:
    """Let pods come, change and go; a deletion shows a state that was not seen before."""
    known: dict[str, Object] = {}
    for _ in range(random.randint(1, 40)):
        namespace = random.choice(NAMESPACES)
        key = f"{namespace}/p{random.randrange(6)}"
        new = _pod(key.partition("/")[2], namespace, random)
        if key in known and random.random() < 0.3:
            world.put(KINDS.POD, new if random.random() < 0.5 else known[key], None)
            del known[key]
        else:
            world.put(KINDS.POD, known.get(key), new)
            known[key] = new
        if random.random() < 0.3:
            world.tally_of_namespace(random.choice(NAMESPACES))
            world.tally_of_owner(f"{random.choice(NAMESPACES)}-{random.choice(OWNERS)}")


def tally_law(make_world: Callable[[], World]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(st.integers(0, 10**6))
    def law(seed: int) -> None:
        world = make_world()
        _changes(Random(seed), world)
        pods = [pod.view for pod in world.all(KINDS.POD)]
        for namespace in NAMESPACES:
            here = [pod for pod in pods if pod.metadata.namespace == namespace]
            assert world.tally_of_namespace(namespace) == Counter(map(facts_for_budgets, here))
            for owner in OWNERS:
                uid = f"{namespace}-{owner}"
                own = [pod for pod in here if any(one.uid == uid for one in pod.metadata.ownerReferences)]
                assert world.tally_of_owner(uid) == Counter(map(facts_for_owner, own))

    return law


class _Trusting(World):
    """Takes away what it is told was there, not what it counted."""

    def _tally(self, known: Object | None, new: Object | None) -> None:
        with suppress(KeyError):
            super()._tally(self._told, new)

    def put(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        self._told = old
        super().put(kind, old, new)


def test_pods_are_counted_as_they_change() -> None:
    tally_law(World)()


def test_a_world_that_forgets_another_state_than_it_counted_is_noticed() -> None:
    assert_notices(tally_law(_Trusting))


# -- statuses ---------------------------------------------------------------------------------------------------------


def _naive_replica_set(owner: Object, pods: list[Any]) -> Raw:
    selected = [pod for pod in pods if pod.metadata.labels.get("app") == owner.name]
    active = [pod for pod in selected if pod.metadata.deletionTimestamp is None and pod.status.phase != "Failed"]
    ready = [one for pod in active for one in pod.status.conditions if one.status == "True"]
    long = [one for one in ready if NOW - (seconds_of(one.lastTransitionTime) or 0) >= 30]
    leaving = [pod for pod in selected if pod.metadata.deletionTimestamp is not None and pod.status.phase != "Failed"]
    counts = {"fullyLabeledReplicas": len(active), "readyReplicas": len(ready), "availableReplicas": len(long)}
    counted = {name: count for name, count in counts.items() if count}
    return {"replicas": len(active), "terminatingReplicas": len(leaving), **counted, "observedGeneration": 1}


def _naive_budget(budget: Object, pods: list[Any], replicas: int) -> tuple[int, int, int]:
    """Return the healthy, the desired and the expected pods."""
    spec = budget.view.spec
    selects_all = not spec.selector.matchLabels and not spec.selector.matchExpressions
    mine = [pod for pod in pods if selects_all or pod.metadata.labels.get("app") == "web"]
    granted = {name for name, when in budget.view.status.disruptedPods.items() if (seconds_of(when) or 0) + 120 > NOW}
    healthy = sum(
        pod.metadata.deletionTimestamp is None
        and pod.metadata.name not in granted
        and any(one.status == "True" for one in pod.status.conditions)
        for pod in mine
    )
    owners = {owner.uid for pod in mine for owner in pod.metadata.ownerReferences}
    if spec.minAvailable == 2:
        return healthy, 2, len(mine)
    expected = replicas * len(owners)
    desired = max(0, expected - 1) if spec.maxUnavailable is not None else -(-expected // 2)
    return healthy, desired, expected


def status_law(make_world: Callable[[], World]) -> Callable[[], None]:
    """Statuses after many changes are what a look at every pod gives."""

    @LAW_SETTINGS
    @given(st.integers(0, 10**6))
    def law(seed: int) -> None:
        random, world, replicas = Random(seed), make_world(), 3
        owners = [_owner(name, namespace, replicas) for name in OWNERS for namespace in NAMESPACES]
        budgets = [_budget(number, random.choice(NAMESPACES), random) for number in range(2)]
        for found in (*owners, *budgets):
            world.put(found.kind, None, found)
        _changes(random, world)
        pods = [pod.view for pod in world.all(KINDS.POD)]
        for budget in budgets:
            plan = DisruptionController(controller_context()).reconcile(budget.key, world, NOW)
            (update,) = (action for action in plan.actions if isinstance(action, Update))
            status = update.document["status"]
            here = [pod for pod in pods if pod.metadata.namespace == budget.namespace]
            numbers = status["currentHealthy"], status["desiredHealthy"], status["expectedPods"]
            assert numbers == _naive_budget(budget, here, replicas)
        for owner in owners:
            plan = ReplicaSetController(controller_context()).reconcile(owner.key, world, NOW)
            own = [pod for pod in pods if any(one.uid == owner.uid for one in pod.metadata.ownerReferences)]
            for action in plan.actions:
                if isinstance(action, Update):
                    assert action.document["status"] == _naive_replica_set(owner, own)

    return law


def test_statuses_are_what_a_look_at_every_pod_gives() -> None:
    status_law(World)()


def test_statuses_of_a_world_that_forgets_another_state_than_it_counted_are_noticed() -> None:
    assert_notices(status_law(_Trusting))


# -- how much is looked at --------------------------------------------------------------------------------------------


class _Counting(World):
    """Counts the pods that it hands out."""

    handed = 0

    def _found(self, kind: Kind, keys: dict[str, None] | None) -> list[Object]:
        found = super()._found(kind, keys)
        self.handed += len(found) if kind is KINDS.POD else 0
        return found


@pytest.mark.parametrize("pods", [200, 2_000])
def test_a_change_of_one_pod_costs_no_look_at_the_others(pods: int) -> None:
    world, random = _Counting(), Random(1)
    owner, budget = _owner("web", "default", pods), _budget(0, "default", random)
    for found in (owner, budget):
        world.put(found.kind, None, found)
    made = []
    for number in range(pods):
        pod = _pod("p", "default", Random(3))
        pod.raw["metadata"] |= {"name": f"p{number}", "uid": f"p{number}", "labels": {"app": "web"}}
        pod.raw["metadata"]["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": owner.uid, "controller": True}
        ]
        made.append(_object(KINDS.POD, {**pod.raw, "status": {"phase": "Running"}}))
        world.put(KINDS.POD, None, made[-1])
    replica_sets, budgets = ReplicaSetController(controller_context()), DisruptionController(controller_context())
    looked: list[int] = []
    for pod in made[:3]:
        world.handed = 0
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": time_text(NOW)}
        after = _object(KINDS.POD, {**pod.raw, "status": {"phase": "Running", "conditions": [ready]}})
        world.put(KINDS.POD, pod, after)
        for controller in (replica_sets, budgets):
            for key in controller.concerns(KINDS.POD, pod, after, world):
                steps = controller.steps(key, world, NOW)
                taken = 0
                with suppress(StopIteration):
                    while True:
                        next(steps)
                        taken += 1
                assert taken < 5
        looked.append(world.handed)
    assert looked[1:] == [0, 0], "after the first look, which counts them"


def test_facts_that_differ_are_not_counted_together() -> None:
    assert len({PodFacts((("a", "b"),)), PodFacts((("a", "b"),), is_leaving=True), PodFacts(())}) == 3
