"""Repair the annotations of lowered pods: what was left behind goes, what is lost comes back from the pod's owner.

A pod's affinity cannot be changed; one that does not belong to its tolerations is reported. Nothing that an annotation
claims is trusted beyond what the pod's tolerations say. Kubernetes: has no such annotations.
"""

from collections.abc import Iterable

from moorage.attach import formats
from moorage.attach.pods import KEPT
from moorage.attach.tolerations import lowered_tolerations, without_empty
from moorage.attached.controller.lowered_pods import (
    TEMPLATE_KINDS,
    identity_of,
    living_pod,
    pod_template,
    raw_toleration,
    read_lowered,
)
from moorage.attached.controller.registry import AttachedContext, AttachedController
from moorage.attached.controller.repairing import NOT_REPAIRED, REPAIRED, Fault, Found, fault_of, is_exempt, remember
from moorage.attached.controller.repairs import repairs_counter
from moorage.client.protocol import Object, PatchType
from moorage.control.framework.actions import NOTHING, Patch, Plan, note, warn
from moorage.control.framework.world import World, controller_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.pod import Pod


class PodRepair(AttachedController):
    """Reconciles living pods that are lowered, or were once."""

    name = "pod-repair"
    watches = (KINDS.POD, KINDS.NAMESPACE, *TEMPLATE_KINDS)

    def __init__(self, attached: AttachedContext) -> None:
        super().__init__(attached)
        self._reported: dict[str, str] = {}  # by UID
        self._repairs = repairs_counter(self.context.metrics)

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is not KINDS.POD or new is None:
            return ()
        if old is not None and identity_of(old.view) == identity_of(new.view):
            return ()
        return (new.key,) if self._fault(new) is not None else ()

    def _fault(self, found: Object) -> Found | None:
        pod = living_pod(found)
        if pod is None or pod.metadata.deletionTimestamp is not None:
            return None
        owner = controller_of(pod.metadata)
        return fault_of(pod, has_affinity=owner is None or owner.kind != "DaemonSet")

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        pod = world.get(KINDS.POD, key)
        found = self._fault(pod) if pod is not None else None
        if pod is None or found is None or is_exempt(pod, world):
            return NOTHING
        if found.fault is Fault.NO_MARKER:
            text = f"Removed the annotation {formats.TOLERATIONS}: its tolerations are not lowered"
            return Plan((_annotate(pod, {formats.TOLERATIONS: None}), warn(pod, REPAIRED, text)))
        if found.fault is Fault.NO_ANNOTATION and (kept := _kept_by_owner(pod, world)):
            owner = controller_of(pod.view.metadata)
            assert owner is not None
            text = f"Restored the annotations of {formats.ANNOTATION_DOMAIN} from {owner.kind} {owner.name}"
            return Plan((_annotate(pod, kept), note(pod, REPAIRED, text)))
        if self._reported.get(pod.uid) == found.text:
            return NOTHING
        remember(self._reported, pod.uid, found.text)
        return Plan((warn(pod, NOT_REPAIRED, _REPORTS[found.fault].format(found.text)),))

    def done(self, key: str, plan: Plan, now: float) -> None:
        is_repaired = isinstance(plan.actions[0], Patch)
        self._repairs.labels("annotation of a pod" if is_repaired else "reported pod").inc()


#: What is told where nothing can be repaired.
_REPORTS = {
    Fault.NO_ANNOTATION: "Lowered, but its values of taints are not compared: {}",
    Fault.AFFINITY: "Lowered, but placed by other rules: its {}; delete it, and create it again",
}


def _annotate(pod: Object, annotations: dict[str, str | None]) -> Patch:
    """Change annotations, unless the pod has changed meanwhile."""
    metadata = {"uid": pod.uid, "resourceVersion": str(pod.revision), "annotations": annotations}
    return Patch(KINDS.POD, pod.namespace, pod.name, {"metadata": metadata}, patch_type=PatchType.MERGE)


def _kept_by_owner(found: Object, world: World) -> dict[str, str | None]:
    """Return our annotations of the owner's template, if the pod's tolerations are what it was lowered to."""
    pod: Pod = found.view
    owner = controller_of(pod.metadata)
    kind = next((each for each in TEMPLATE_KINDS if owner is not None and each.name == owner.kind), None)
    if owner is None or kind is None:
        return {}
    owning = world.get(kind, f"{found.namespace}/{owner.name}")
    template = pod_template(owning) if owning is not None and owning.uid == owner.uid else None
    lowered = read_lowered(template) if template is not None else None
    if template is None or lowered is None or lowered.original is None:
        return {}
    there = [raw_toleration(each) for each in pod.spec.tolerations]
    made = lowered_tolerations(lowered.original.lowered)
    if not all(without_empty(each) in there for each in made.all):
        return {}
    wanted = {name: template.metadata.annotations.get(name) for name in KEPT}
    return {name: text for name, text in wanted.items() if text is not None}
