"""ReplicaSets and Deployments as short as tests want them, and the controllers that take care of them."""

from collections.abc import Iterable
from typing import Any

from tests.controller_context import controller_context

from moorage.client.protocol import Object
from moorage.control.deployment.controller import DeploymentController
from moorage.control.framework.controller import Controller
from moorage.control.replica_set import ReplicaSetController
from moorage.model.kinds import KINDS

Raw = dict[str, Any]


def both() -> Iterable[Controller]:
    return (ReplicaSetController(controller_context()), DeploymentController(controller_context()))


def only_replica_sets() -> Iterable[Controller]:
    return (ReplicaSetController(controller_context()),)


def template(app: str, image: str = "one", **spec: Any) -> Raw:
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "c", "image": image}], **spec}}


def workload(kind: str, name: str, replicas: int, image: str = "one", **spec: Any) -> Raw:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template(name, image),
            **spec,
        },
    }


def replica_set(name: str, replicas: int, **spec: Any) -> Raw:
    return workload("ReplicaSet", name, replicas, **spec)


def deployment(name: str, replicas: int, image: str = "one", **spec: Any) -> Raw:
    return workload("Deployment", name, replicas, image, **spec)


def rolling(surge: int | str, unavailable: int | str) -> Raw:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def pod(name: str, labels: dict[str, str] | None = None, **more: Any) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels or {}, **more.pop("metadata", {})},
        "spec": {"containers": [{"name": "c", "image": "one"}], **more.pop("spec", {})},
        **more,
    }


def ready(since: str | None = "2026-01-01T00:00:00Z") -> Raw:
    return {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": since}],
    }


def seen(raw: Raw, uid: str = "") -> Object:
    """An object as an informer would have it."""
    facts = {"Pod": KINDS.POD, "ReplicaSet": KINDS.REPLICA_SET, "Deployment": KINDS.DEPLOYMENT}[raw["kind"]]
    metadata = {"uid": uid or raw["metadata"]["name"], **raw["metadata"]}
    return Object(facts, f"default/{metadata['name']}", 1, raw={**raw, "metadata": metadata})
