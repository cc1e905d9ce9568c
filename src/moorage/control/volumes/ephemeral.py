"""Create claims for the ephemeral volumes of pods. Kubernetes: pkg/controller/volume/ephemeral.

A claim of that name with another owner is left alone and reported.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Action, Create, Plan, Raw, Report, warn
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.workloads import controller_reference, nonempty
from moorage.control.framework.world import World, controller_of
from moorage.control.volumes.claims import FAILED_BINDING
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind


class EphemeralVolumes(Controller):
    """Reconciles pods with ephemeral volumes."""

    name = "ephemeral-volume-controller"
    component = "ephemeral_volume"
    watches = (KINDS.POD, KINDS.PERSISTENT_VOLUME_CLAIM)

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        prefix, text = "ephemeral_volume_controller_create", "Number of PersistentVolumeClaim creation requests"
        self._attempts = context.metrics.counter(f"{prefix}_total", text)
        self._failures = context.metrics.counter(f"{prefix}_failures_total", text)

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.POD:
            return (new.key,) if new is not None and old is None and _is_concerned(new) else ()
        if old is None or new is not None:
            return ()
        owner = controller_of(old.view.metadata)  # the pod needs another claim
        return (f"{old.namespace}/{owner.name}",) if owner is not None and owner.kind == KINDS.POD.name else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        pod = world.get(KINDS.POD, key)
        if pod is None or not _is_concerned(pod):
            return NOTHING
        actions: list[Action] = []
        for volume in pod.raw["spec"].get("volumes") or ():
            if volume.get("ephemeral") is None:
                continue
            name = f"{pod.name}-{volume['name']}"
            claim = world.get(KINDS.PERSISTENT_VOLUME_CLAIM, f"{pod.namespace}/{name}")
            if claim is None:
                actions.append(
                    Create(KINDS.PERSISTENT_VOLUME_CLAIM, _claim(name, pod, volume["ephemeral"]), pod.namespace)
                )
                continue
            owner = controller_of(claim.view.metadata)
            if owner is None or owner.uid != pod.uid:
                why = f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"
                return Plan((*actions, _said(pod, volume["name"], why)), retries=True)
        return Plan(tuple(actions))

    def done(self, key: str, plan: Plan, now: float) -> None:
        self._attempts.labels().inc(sum(isinstance(action, Create) for action in plan.actions))

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        self._attempts.labels().inc()
        self._failures.labels().inc()
        pod = world.get(KINDS.POD, key)
        if pod is None or not isinstance(action, Create):
            return ()
        name = action.document["metadata"]["name"]
        return (_said(pod, name.removeprefix(f"{pod.name}-"), f"create PVC {name}: {error.message}"),)


def _is_concerned(pod: Object) -> bool:
    view = pod.view
    return view.metadata.deletionTimestamp is None and any(volume.ephemeral is not None for volume in view.spec.volumes)


def _claim(name: str, pod: Object, source: dict[str, Any]) -> Raw:
    template = source.get("volumeClaimTemplate") or {}
    given = template.get("metadata") or {}
    metadata: Raw = {"name": name, "namespace": pod.namespace, "ownerReferences": [controller_reference(pod)]}
    metadata |= nonempty(annotations=given.get("annotations"), labels=given.get("labels"))
    spec = template.get("spec") or {}
    return {
        "apiVersion": KINDS.PERSISTENT_VOLUME_CLAIM.api_version,
        "kind": KINDS.PERSISTENT_VOLUME_CLAIM.name,
        "metadata": metadata,
        "spec": spec,
    }


def _said(pod: Object, volume: str, why: str) -> Report:
    return warn(pod, FAILED_BINDING, f"ephemeral volume {volume}: {why}")
