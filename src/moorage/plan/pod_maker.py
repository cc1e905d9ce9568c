"""A workload's template → pods, each admitted as the API server would admit what a controller creates.

In: a workload, the admission plugins, a name. Out: a `PlannedPod`, or `FailedCreate` with the words of the event that
its controller would record. Pods that differ by nothing but their names are admitted once and copied.
Kubernetes: controller.GetPodFromTemplate and the API server's create.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from moorage.admit.admission import Rejected, admit
from moorage.admit.plugins import Plugin
from moorage.admit.raw import Raw, copy_document
from moorage.admit.request import ANY_REQUEST, Request
from moorage.model.gates import GateSet
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Affinity, Pod
from moorage.plan.input.inventory import Item
from moorage.plan.naming import SUFFIX_LENGTH
from moorage.plan.planned_pod import PlannedPod


class FailedCreate(msgspec.Struct, frozen=True):
    """A pod that the API server does not take, and what its controller says about it."""

    item: Item
    pod: str
    message: str


class PodMaker:
    """Makes the pods of all workloads."""

    def __init__(self, gates: GateSet, plugins: Sequence[Plugin]) -> None:
        self._gates = gates
        self._plugins = tuple(plugins)
        self._alike: dict[Any, Pod] = {}

    def make(self, item: Item, raw: Raw, name: str, *, alike: Any = None) -> PlannedPod | FailedCreate:
        """Admit a raw pod. Others of equal `alike` are the same but for their names: see `again`."""
        suffix = name[-SUFFIX_LENGTH:]
        request = Request(namespace=item.key.namespace, name_suffix=suffix)
        result = admit(raw, None, self._gates, plugins=self._plugins, request=request)
        if isinstance(result, Rejected):
            return FailedCreate(item, name, _event(item, name, str(result.status["message"])))
        if not isinstance(result.view, Pod):
            raise TypeError(f"admission made {type(result.view)} of a pod")
        if alike is not None:
            self._alike[alike] = result.view
        return PlannedPod(result.view, item.key, place=item.place)

    def again(self, item: Item, name: str, alike: Any) -> PlannedPod | None:
        """One more pod like one that was admitted already; None if none was."""
        known = self._alike.get(alike)
        return self.copy(item, known, name) if known is not None else None

    def copy(self, item: Item, pod: Pod, name: str) -> PlannedPod:
        """The same pod by another name."""
        metadata = msgspec.structs.replace(pod.metadata, name=name)
        return PlannedPod(msgspec.structs.replace(pod, metadata=metadata), item.key, place=item.place)


def pod_from_template(
    item: Item, owner: tuple[str, str, str], name: Raw, labels: dict[str, str], template: Raw | None = None
) -> Raw:
    """A raw pod as a controller makes it. `owner` is apiVersion, kind and name of what controls it; `name` is what the
    controller says of its name: `name`, or `generateName`.
    """
    template = item.raw["spec"]["template"] if template is None else template
    metadata = template.get("metadata") or {}
    api_version, kind, owner_name = owner
    uid = item.view.metadata.uid or ANY_REQUEST.uid
    reference = {"apiVersion": api_version, "kind": kind, "name": owner_name, "uid": uid}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **name,
            "namespace": item.key.namespace,
            "labels": {**(metadata.get("labels") or {}), **labels},
            "annotations": dict(metadata.get("annotations") or {}),
            "finalizers": list(metadata.get("finalizers") or []),
            "ownerReferences": [{**reference, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": copy_document(template.get("spec") or {}),
    }


def with_affinity(pod: Pod, affinity: Raw) -> Pod:
    spec = msgspec.structs.replace(pod.spec, affinity=convert_view(affinity, Affinity))
    return msgspec.structs.replace(pod, spec=spec)


def _event(item: Item, pod: str, message: str) -> str:
    """The FailedCreate event's message."""
    if item.key.kind == "StatefulSet":
        return f"create Pod {pod} in StatefulSet {item.key.name} failed error: {message}"
    return f"Error creating: {message}"
