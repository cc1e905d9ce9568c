"""Repair lowered pod templates that would place pods wrongly, and report the others: a repair is a rollout.

A template whose manifest was changed while the webhook was away has affinity that belongs to other tolerations, or an
annotation that means nothing any more. Where pods would be misplaced, it is written as the webhook would have; where
they are placed rightly, only if no rollout follows. What cannot be written is reported. A repair that is undone by
others is made again after a while only. Kubernetes: has no such repair.
"""

from collections.abc import Iterable, Sequence

from moorage.attach.formats import Raw
from moorage.attach.objects import POD_PATHS, lowered, pod_of
from moorage.attach.refusals import Refused, Unreadable
from moorage.attached.controller.lowered_pods import TEMPLATE_KINDS, identity_of, pod_template, template_of
from moorage.attached.controller.registry import AttachedContext, AttachedController
from moorage.attached.controller.repairing import NOT_REPAIRED, REPAIRED, Fault, Found, fault_of, is_exempt, remember
from moorage.attached.controller.repairs import repairs_counter
from moorage.client.protocol import Object, PatchType
from moorage.control.framework.actions import NOTHING, Action, Patch, Plan, warn
from moorage.control.framework.world import World
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind

#: How long a template is left alone after a repair, so that who undoes it is not fought.
LEAST_BETWEEN = 600.0


class TemplateRepair(AttachedController):
    """Reconciles workloads whose pod template is lowered, or was once; keys begin with the kind."""

    name = "template-repair"
    watches = (KINDS.NAMESPACE, *TEMPLATE_KINDS)

    def __init__(self, attached: AttachedContext) -> None:
        super().__init__(attached)
        self._reported: dict[str, str] = {}  # by UID
        self._repaired: dict[str, float] = {}  # by UID
        self._repairs = repairs_counter(self.context.metrics)

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.NAMESPACE or new is None:
            return ()
        if old is not None and _template_of(old) == _template_of(new):
            return ()
        return (f"{kind.name}/{new.key}",) if _fault(new) is not None else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        kind_name, _, name = key.partition("/")
        kind = next(each for each in TEMPLATE_KINDS if each.name == kind_name)
        found = world.get(kind, name)
        fault = _fault(found) if found is not None else None
        if found is None or fault is None or is_exempt(found, world):
            return NOTHING
        if fault.fault is Fault.NO_ANNOTATION:
            return self._report(found, f"Pods are lowered, but their values of taints are not compared: {fault.text}")
        if not fault.misplaced and rolls_out(found):
            return self._report(found, f"{fault.text}; pods are placed rightly, and a repair would replace them all")
        if kind is KINDS.JOB:
            return self._report(found, f"{fault.text}, and the template of a Job cannot be changed; create it again")
        left = self._repaired.get(found.uid, now - LEAST_BETWEEN) + LEAST_BETWEEN - now
        if left > 0:
            return Plan(again_after=left)
        try:
            patch = _patch(found)
        except (Refused, Unreadable) as error:
            return self._report(found, f"{fault.text}, and it cannot be lowered again: {error}")
        if patch is None:
            return NOTHING
        remember(self._repaired, found.uid, now)
        why = "it would have placed pods wrongly" if fault.misplaced else "no pod is replaced by that"
        return Plan((patch, warn(found, REPAIRED, f"Lowered the pod template again: {fault.text}; {why}")))

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        """A template that has changed meanwhile, or that something refuses, was not repaired."""
        kind_name, _, name = key.partition("/")
        kind = next(each for each in TEMPLATE_KINDS if each.name == kind_name)
        found = world.get(kind, name)
        if found is not None:
            self._repaired.pop(found.uid, None)
        return ()

    def _report(self, found: Object, text: str) -> Plan:
        """Report what is wrong once, until it is something else."""
        if self._reported.get(found.uid) == text:
            return NOTHING
        remember(self._reported, found.uid, text)
        return Plan((warn(found, NOT_REPAIRED, text),))

    def done(self, key: str, plan: Plan, now: float) -> None:
        self._repairs.labels("template" if isinstance(plan.actions[0], Patch) else "reported template").inc()


def _template_of(found: Object) -> object:
    template = pod_template(found)
    return None if template is None else (identity_of(template), template.spec.affinity)


def _fault(found: Object) -> Found | None:
    template = template_of(found)
    return None if template is None else fault_of(template)


def rolls_out(found: Object) -> bool:
    """Whether another template replaces the pods that run."""
    if found.kind is KINDS.DEPLOYMENT:
        return not found.view.spec.paused
    if found.kind in (KINDS.STATEFUL_SET, KINDS.DAEMON_SET):
        return bool(found.view.spec.updateStrategy.type != "OnDelete")
    return False


def _patch(found: Object) -> Patch | None:
    """Return what lowers a template again, refused if it has changed meanwhile. Raises Refused and Unreadable."""
    document: Raw = {"apiVersion": found.kind.api_version, "kind": found.kind.name, **found.raw}
    changed = lowered(document)
    before, after = pod_of(document), pod_of(changed)
    if before is None or after is None or before == after:
        return None
    path = "".join(f"/{name}" for name in POD_PATHS[found.kind])
    operations: list[Raw] = [
        {"op": "test", "path": "/metadata/uid", "value": found.uid},
        {"op": "test", "path": "/metadata/resourceVersion", "value": str(found.revision)},
    ]
    for part, name in (("metadata", "annotations"), ("spec", "tolerations"), ("spec", "affinity")):
        old, new = (before.get(part) or {}).get(name), (after.get(part) or {}).get(name)
        if old == new:
            continue
        if new is None:
            operations.append({"op": "remove", "path": f"{path}/{part}/{name}"})
        else:
            operations.append({"op": "add", "path": f"{path}/{part}/{name}", "value": new})
    return Patch(found.kind, found.namespace, found.name, operations, patch_type=PatchType.JSON)
