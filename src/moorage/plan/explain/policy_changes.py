"""Tell what policies and webhooks have changed of a pod, or would change of one that was there before.

What was changed of a pod of a live cluster is not known: nothing in it says so. It is asked what would be changed if it
were created now, which is nothing if the same policies have seen it.
"""

from typing import Any

import msgspec

from moorage.admit.extension.remarks import Change
from moorage.control.framework.world import controller_of
from moorage.lint.policies.admission import admit_with_policies
from moorage.model.kinds import KINDS
from moorage.plan.explain.remedies.acceptance import as_new
from moorage.plan.input.extensions.applied import Applied, describe_patch
from moorage.plan.input.inventory import Inventory, Key
from moorage.plan.pod_lines import PlannedPod
from moorage.plan.simulation.simulation import Simulation
from moorage.serve.access.component_users import maker_of_pods
from moorage.serve.pki.authentication import ADMIN


class PodChange(msgspec.Struct, frozen=True):
    """What a policy changed of a pod; with `would`, what it would change if the pod were created now."""

    by: str
    text: str
    patch: tuple[dict[str, Any], ...]
    would: bool = False

    @property
    def sentence(self) -> str:
        return f"{'created now, it would be' if self.would else 'it was'} changed by {self.by}: {self.text}"


def changes_of(simulation: Simulation, inventory: Inventory, pod: PlannedPod) -> tuple[PodChange, ...]:
    """Return the changes of a pod, by policy."""
    namespace, _, name = pod.key.rpartition("/")
    key = Key(KINDS.POD.name, namespace, name)
    item = inventory.items.get(key)
    if item is not None and item.existing:
        return _would_be_changed(simulation, pod)
    applied = simulation.api.applied.changes
    found = applied.get(Applied(key)) or inventory.changes.get(key)
    if found is None and pod.owner is not None:
        found = applied.get(Applied(pod.owner, are_pods=True))
    return tuple(_change(change) for change in (found or {}).values())


def _would_be_changed(simulation: Simulation, pod: PlannedPod) -> tuple[PodChange, ...]:
    found = simulation.world.get(KINDS.POD, pod.key)
    if found is None or simulation.api.extensions.is_empty:
        return ()
    owner = controller_of(found.view.metadata)
    user = ADMIN if owner is None else maker_of_pods(owner.kind)
    answer = admit_with_policies(simulation.api.admission, as_new(found.raw, KINDS.POD), user=user)
    return () if answer.is_refusal else tuple(_change(change, would=True) for change in answer.remarks.changes)


def _change(change: Change, *, would: bool = False) -> PodChange:
    return PodChange(change.source, describe_patch(change.patch), change.patch, would)
