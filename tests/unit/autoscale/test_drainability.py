"""The cases of Cluster Autoscaler's own tests of which pods keep a node (simulator/drainability/rules), as facts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.autoscale.autoscaled import budget

from moorage.autoscale.cluster_autoscaler.drainability import SAFE_VOLUMES, movable_or_blocked
from moorage.autoscale.cluster_autoscaler.removal_reasons import BlockedPod
from moorage.autoscale.disruption_budgets import BudgetCounts
from moorage.autoscale.options import ClusterAutoscalerOptions, read_options
from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.columns.cluster import Cluster
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS, view_of
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget
from moorage.model.well_known.annotations import SAFE_TO_EVICT
from moorage.pools.node_template import Scaler

NOW = 1_767_225_600.0
OLD, YOUNG = "2025-12-31T10:00:00Z", "2025-12-31T23:30:00Z"
EMPTY_DIR: dict[str, Any] = {"name": "data", "emptyDir": {}}
HOST_PATH = {"name": "data", "hostPath": {"path": "/x"}}
MEMORY = {"name": "data", "emptyDir": {"medium": "Memory"}}
NO_DISRUPTION = {"disruptionsAllowed": 0}


def owner(kind: str) -> list[dict[str, Any]]:
    return [{"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "u", "controller": True}]


def verdict(
    metadata: dict[str, Any] | None = None,
    *words: str,
    kind: str = "ReplicaSet",
    volumes: list[dict[str, Any]] | None = None,
    allowed: int | None = None,
    replicas: int = 5,
    **status: Any,
) -> str:
    """Return why the pod keeps its node; `moves` or `stays` if it does not."""
    about: dict[str, Any] = {"name": "p", "namespace": "default", "labels": {"app": "web"}, "creationTimestamp": OLD}
    about |= {"ownerReferences": owner(kind) if kind else [], **(metadata or {})}
    pod = convert_view({"metadata": about, "spec": {"volumes": volumes or []}, "status": status}, Pod)
    world = World()
    raw = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "o", "namespace": "default", "uid": "u"}}
    raw |= {"spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}}}
    world.apply(KINDS.REPLICA_SET, Delta(None, Object(KINDS.REPLICA_SET, "default/o", 1, raw=raw, view=view_of(raw))))
    budgets = []
    if allowed is not None:
        document = {**budget("b", "web"), "status": {"disruptionsAllowed": allowed}}
        document["metadata"]["namespace"] = about["namespace"]
        budgets.append(convert_view(document, PodDisruptionBudget))
    options = read_options(Scaler.CLUSTER_AUTOSCALER, words)
    assert isinstance(options, ClusterAutoscalerOptions)
    records = [Cluster().record("default/p", pod)]
    found = movable_or_blocked(records, BudgetCounts(budgets), world, options, NOW)
    if isinstance(found, BlockedPod):
        return found.reason
    return "moves" if found else "stays"


def safe(text: str, **more: Any) -> dict[str, Any]:
    return {"annotations": {SAFE_TO_EVICT: text}, **more}


SYSTEM = {"namespace": "kube-system"}


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController", "Job", "StatefulSet"])
def test_pods_of_these_controllers_move(kind: str) -> None:
    assert verdict(kind=kind) == "moves"


@pytest.mark.parametrize("kind", ["", "Custom"])
def test_pods_that_no_known_controller_makes_again_keep_their_node(kind: str) -> None:
    assert verdict(kind=kind) == "is not replicated"
    assert verdict(safe("true"), kind=kind) == "moves"


def test_custom_controllers_are_known_if_that_is_asked_for() -> None:
    word = "skip-nodes-with-custom-controller-pods=false"
    assert verdict(None, word, kind="Custom") == "moves"
    assert verdict(None, word, kind="") == "is not replicated"


def test_pods_of_daemon_sets_and_mirror_pods_stay() -> None:
    assert verdict(kind="DaemonSet") == "stays"
    assert verdict({"annotations": {"kubernetes.io/config.mirror": "x"}}, kind="") == "stays"


def test_too_few_replicas() -> None:
    assert verdict(None, "min-replica-count=2", replicas=1).startswith("its ReplicaSet has 1 replicas")
    assert verdict(None, "min-replica-count=2", replicas=2) == "moves"


@pytest.mark.parametrize(
    ("volume", "annotation", "expected"),
    [
        (EMPTY_DIR, "", "has local storage"),
        (HOST_PATH, "", "has local storage"),
        (MEMORY, "", "moves"),
        (EMPTY_DIR, "data", "moves"),
        (EMPTY_DIR, "other,data", "moves"),
        (EMPTY_DIR, "other", "has local storage"),
        (EMPTY_DIR, "data ", "has local storage"),
    ],
)
def test_local_storage(volume: dict[str, Any], annotation: str, expected: str) -> None:
    metadata = {"annotations": {SAFE_VOLUMES: annotation}} if annotation else {}
    assert verdict(metadata, volumes=[volume]) == expected
    assert verdict(metadata, "skip-nodes-with-local-storage=false", volumes=[volume]) == "moves"
    assert verdict(safe("true"), volumes=[volume]) == "moves"


def test_annotations_of_eviction() -> None:
    assert verdict(safe("false")) == "is annotated safe-to-evict=false"
    assert verdict(safe("on-completion")).startswith("is annotated safe-to-evict=on-completion")
    assert verdict(safe("true")) == "moves"


@pytest.mark.parametrize(
    ("metadata", "words", "allowed", "expected"),
    [
        ({**SYSTEM, "creationTimestamp": YOUNG}, (), None, "is a pod of kube-system without a pod disruption budget"),
        ({**SYSTEM, "creationTimestamp": OLD}, (), None, "moves"),
        ({**SYSTEM, "creationTimestamp": YOUNG}, (), 1, "moves"),
        ({**SYSTEM, "creationTimestamp": YOUNG}, ("skip-nodes-with-system-pods=false",), None, "moves"),
        (safe("true", creationTimestamp=YOUNG, **SYSTEM), (), None, "moves"),
        ({"creationTimestamp": YOUNG}, (), None, "moves"),
    ],
)
def test_pods_of_the_system(
    metadata: dict[str, Any], words: tuple[str, ...], allowed: int | None, expected: str
) -> None:
    assert verdict(metadata, *words, allowed=allowed) == expected


def test_budgets_also_bind_pods_that_are_safe_to_evict() -> None:
    assert verdict(allowed=0) == "not enough pod disruption budget: default/b"
    assert verdict(safe("true"), allowed=0) == "not enough pod disruption budget: default/b"
    assert verdict(allowed=1) == "moves"


def test_pods_that_leave_anyway() -> None:
    leaving = {"deletionTimestamp": "2025-12-31T23:59:50Z"}
    long_gone = {"deletionTimestamp": "2025-12-31T23:50:00Z"}
    assert verdict(leaving) == "stays"
    assert verdict(long_gone, kind="") == "stays"
