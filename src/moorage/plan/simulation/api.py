"""The API server of a simulation: the verbs of `serve` as plain functions on objects in memory.

Every change goes through the functions of `admit` that the server's verbs call, and is published at once as an old
and a new object to `listeners`. Two shortcuts keep ten thousand pods cheap: pods that differ by their names only are
admitted once (`PodTemplates`), and what components write into a pod is put into its typed view (`pod_edits`).
`actor` names the component at work; deletions record it.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import Any, NamedTuple, Unpack

import msgspec

from moorage.admit.admission import Admitted
from moorage.admit.plugins.limit_ranger import ANNOTATION
from moorage.admit.plugins.standard import check_namespace_deletion
from moorage.admit.raw import copy_document
from moorage.admit.request import Request
from moorage.admit.subresources.deletion import Deletion as DeletionDecision
from moorage.admit.subresources.deletion import decide_deletion, is_finalized
from moorage.admit.subresources.pods import (
    bind_pod,
    binding_with_labels,
    bound_view,
    decide_eviction,
    marked_for_eviction,
)
from moorage.admit.subresources.status_update import finalize_namespace
from moorage.client.http_wire import namespace_to_create_in
from moorage.client.protocol import DeletionDemands, Object, PatchType, Raw, Template
from moorage.control.framework.world import World
from moorage.model.api_error import already_exists, not_found, stale
from moorage.model.gates import GateSet
from moorage.model.generated_names import new_suffix, new_uid
from moorage.model.kinds import KINDS, Kind, Ref
from moorage.model.quantity import add_amounts
from moorage.model.schema.conversion import convert_view
from moorage.model.schema.merge_schema import schema_of
from moorage.model.types.pod import Pod, PodCondition, PodStatus
from moorage.plan.simulation.pod_deletions import PodDeletions, read_demands
from moorage.plan.simulation.pod_edits import (
    Bound,
    Edit,
    NewConditions,
    SimulatedObject,
    binding_to,
)
from moorage.serve.requests.decoding import check_kind
from moorage.serve.resources.objects import key_of
from moorage.serve.templates.pods import Likeness
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import Changed, admit_change, check_namespace, expected_revision, name_owners_once
from moorage.serve.verbs.patching import Patch, patched
from moorage.serve.verbs.registry import admitted
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Stored

_NAMES_TRIED = 8
_MANAGER = "simulation"
#: For a cluster that never comes to rest.
MAX_WRITES = 100_000
_replace = msgspec.structs.replace
_encode, _decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(dict[str, Any]).decode

Listener = Callable[[Kind, Object | None, Object | None], None]


class TooManyWrites(Exception):
    """The cluster does not come to rest: the simulation must end."""


class Clock:
    """Virtual time of day, in seconds. `start` is when the simulation began."""

    __slots__ = ("now", "start")

    def __init__(self, start: float) -> None:
        self.start = self.now = start

    def __call__(self) -> float:
        return self.now

    @property
    def elapsed(self) -> float:
        return self.now - self.start


class Deletion(NamedTuple):
    """A pod whose deletion was asked for: when, and by which component."""

    pod: Object
    time: float
    actor: str


class _Admission(Api):
    """The admission half of the API server, which notes no field owners."""

    def __init__(self, gates: GateSet, clock: Clock, random: Random) -> None:
        super().__init__(
            MemoryStore(),  # nothing is stored there: the world has all objects
            gates,
            clock=clock,
            new_uid=partial(new_uid, random),
            new_suffix=partial(new_suffix, random.random),
            collects_garbage=True,
            protects_storage=True,
        )

    def _admit_pod(self, raw: Raw, request: Request, manager: str) -> Admitted:
        return self._admit_first(KINDS.POD, raw, request, None)


class SimulatedApi:
    """All objects of a simulated cluster, and the verbs that change them. Verbs raise ApiError."""

    def __init__(self, gates: GateSet, clock: Clock, random: Random) -> None:
        self.gates, self.clock, self.world = gates, clock, World()
        self.rules = _Admission(gates, clock, random)
        self.listeners: list[Listener] = []
        self.deletions: list[Deletion] = []
        self.created_pods: list[tuple[Object, float]] = []
        self.limited_pods: list[Object] = []  # those for which a LimitRange has set something
        self.actor = ""
        self.writes, self.max_writes = 0, MAX_WRITES
        self._revision = 0
        self._template: tuple[Raw, str, Likeness] | None = None
        self._conditions: tuple[tuple[PodCondition, ...], list[Raw], tuple[PodCondition, ...]] | None = None
        self._zone_labels: dict[tuple[int, int], tuple[dict[str, str], Mapping[str, str], dict[str, str]]] = {}
        self._bound_statuses: dict[int, tuple[PodStatus, str, PodStatus]] = {}
        self._new_conditions, self._pod_deletions = NewConditions(), PodDeletions()

    # -- reading ------------------------------------------------------------------------------------------------------

    def get(self, kind: Kind, name: str, namespace: str = "") -> Object:
        found = self.world.get(kind, _key(kind, namespace, name))
        if found is None:
            raise not_found(kind, name)
        return found

    # -- writing ------------------------------------------------------------------------------------------------------

    def put(self, kind: Kind, raw: Raw, view: Any, template: Template | None = None) -> Object:
        """Store an admitted object as it is, new or in the place of the one of its name."""
        metadata = view.metadata
        key = _key(kind, metadata.namespace, metadata.name)
        self._revision += 1
        made = SimulatedObject(kind, key, self._revision, view, template, raw)
        self._publish(kind, self.world.get(kind, key), made)
        return made

    def create(self, kind: Kind, document: Raw, namespace: str = "") -> Object:
        namespace = namespace_to_create_in(kind, document, namespace)
        is_pod = kind is KINDS.POD
        raw = {**document, "metadata": dict(document["metadata"])} if is_pod else copy_document(document)
        check_kind(raw, kind)
        metadata = raw["metadata"]
        check_namespace(kind, namespace if kind.namespaced else "", metadata)
        name_owners_once(metadata)
        for _ in range(1 if metadata.get("name") else _NAMES_TRIED):
            like = self._likeness(document, raw, namespace) if is_pod else None
            result, template = self.rules.admit_new(kind, raw, namespace, _MANAGER if is_pod else None, like)
            name = result.object["metadata"]["name"]
            if self.world.get(kind, _key(kind, namespace, name)) is None:
                if namespace in self.rules.quotas.accounts:
                    self._charge(kind, namespace, name, result.view)
                made = self.put(kind, result.object, result.view, template)
                if is_pod:
                    self.created_pods.append((made, self.clock.now))
                    if ANNOTATION in made.view.metadata.annotations:
                        self.limited_pods.append(made)
                return made
        raise already_exists(kind, name)

    def _charge(self, kind: Kind, namespace: str, name: str, view: Any) -> None:
        """Charge a new object to the quotas of its namespace. Raises ApiError."""
        for quota, amounts in self.rules.quotas.check(kind, namespace, name, view, None, ""):
            found = self.get(KINDS.RESOURCE_QUOTA, quota, namespace)
            used = dict(found.view.status.used)
            add_amounts(used, amounts)
            status = {**(found.raw.get("status") or {}), "used": {name: str(used[name]) for name in sorted(used)}}
            new_view = _replace(found.view, status=_replace(found.view.status, used=used))
            self.put(KINDS.RESOURCE_QUOTA, {**found.raw, "status": status}, new_view)

    def _likeness(self, document: Raw, raw: Raw, namespace: str) -> Likeness:
        """Return the fingerprint of all but the name; controllers hand over one document for many pods."""
        known = self._template
        if known is None or known[0] is not document or known[1] != namespace:
            known = self._template = document, namespace, self.rules.templates.likeness(raw, namespace, _MANAGER)
        return known[2]

    def update(self, kind: Kind, document: Raw, subresource: str = "") -> Object:
        metadata = dict(document["metadata"])
        name, namespace = metadata["name"], metadata.get("namespace", "")
        expected = expected_revision(kind, name, document)
        if subresource == "finalize":
            return self._change(
                kind,
                name,
                "",
                lambda old, view: Changed(
                    admitted(finalize_namespace(copy_document(document), old, self.gates)), expected
                ),
            )
        new = {**document, "metadata": metadata}
        check_kind(new, kind)
        return self._change(
            kind,
            name,
            namespace,
            lambda old, view: admit_change(
                self.rules, Ref(kind, namespace, name), new, old, expected, None, subresource, view
            ),
        )

    def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        patch: Raw | list[Raw],
        subresource: str = "",
        patch_type: PatchType = PatchType.STRATEGIC,
    ) -> Object:
        def make(old: Raw, view: Any) -> Changed:
            new = patched(old, Patch(patch_type.value, patch), schema_of(kind))
            new = {**new, "metadata": dict(new["metadata"])}
            name_owners_once(new["metadata"], is_patch=True)
            is_same = new["metadata"].get("resourceVersion") == old["metadata"]["resourceVersion"]
            expected = None if is_same else expected_revision(kind, name, new)
            return admit_change(self.rules, Ref(kind, namespace, name), new, old, expected, None, subresource, view)

        if kind is KINDS.POD and subresource == "status" and patch_type is PatchType.STRATEGIC:
            found = self.get(kind, name, namespace)
            added = self._new_conditions.added(found, patch)
            if added is not None:
                return self._edit(found, *added)
        return self._change(kind, name, namespace, make)

    def delete(self, kind: Kind, name: str, namespace: str = "", **demands: Unpack[DeletionDemands]) -> None:
        if kind is KINDS.NAMESPACE:
            check_namespace_deletion(name)
        found = self.get(kind, name, namespace)
        now = int(self.clock.now)
        plain = self._pod_deletions.decide(found, demands, now) if kind is KINDS.POD else None
        if plain is None:
            time = datetime.fromtimestamp(now, UTC)
            deletion = decide_deletion(kind, found.raw, read_demands(demands), time, str(found.revision))
            self._delete(kind, found, deletion)
            return
        self._note_deletion(found)
        if plain.removes:
            self._remove(found)
        elif plain.edit is not None:
            self._edit(found, plain.marked(found.view), plain.edit)

    def _delete(self, kind: Kind, found: Object, deletion: DeletionDecision) -> None:
        if kind is KINDS.POD:
            self._note_deletion(found)
        if deletion.removes:
            self._remove(found)
        elif deletion.changed:
            self.put(kind, deletion.object, convert_view(deletion.object, kind.view))

    def delete_with_condition(self, key: str, patch: Raw | list[Raw], demands: DeletionDemands) -> bool:
        """Add a condition to a pod and mark it as deleted, which is told as one change: watches need not show both.

        Return False, with nothing done, if that takes more than putting it into the pod's view.
        """
        found = self.world.get(KINDS.POD, key)
        added = self._new_conditions.added(found, patch) if found is not None else None
        if found is None or added is None:
            return False
        plain = self._pod_deletions.decide(found, demands, int(self.clock.now))
        if plain is None or plain.edit is None:
            return False
        self._note_deletion(found)
        self._revision += 1
        self.writes += 1
        self._edit(found, plain.marked(added[0]), added[1], plain.edit)
        return True

    def _note_deletion(self, pod: Object) -> None:
        if pod.view.metadata.deletionTimestamp is None:
            self.deletions.append(Deletion(pod, self.clock.now, self.actor))

    def _remove(self, found: Object) -> None:
        self._revision += 1
        self._publish(found.kind, found, None)

    def bind(self, key: str, uid: str, node: str) -> None:
        """Put a pod on a node. Pods of one template that are bound in one second share their new status."""
        found = self.world.get(KINDS.POD, key)
        name = key.rpartition("/")[2]
        if found is None:
            raise not_found(KINDS.POD, name)
        pod: Pod = found.view
        now = self.rules.now_text()
        topology = self.rules.directory.topology_of(node)
        known = self._bound_statuses.get(id(pod.status))
        is_plain = pod.metadata.deletionTimestamp is None and not pod.spec.nodeName and pod.metadata.uid == uid
        if is_plain and known is not None and known[0] is pod.status and known[1] == now:
            view = _replace(pod, spec=_replace(pod.spec, nodeName=node), status=known[2])
            if topology:
                view = _replace(view, metadata=_replace(pod.metadata, labels=self._labels_on(pod, topology)))
        else:
            binding = binding_with_labels(binding_to(name, uid, node), topology)
            bound = bind_pod(found.raw, binding, now, str(found.revision))
            view = bound_view(pod, bound)
            if len(self._bound_statuses) > 4096:
                self._bound_statuses.clear()
            self._bound_statuses[id(pod.status)] = pod.status, now, view.status
        self._edit(found, view, Bound(node, now, topology))

    def _labels_on(self, pod: Pod, topology: Mapping[str, str]) -> dict[str, str]:
        """Return the labels of a pod with those of its zone; pods of one template in one zone share them."""
        key = id(pod.metadata.labels), id(topology)
        known = self._zone_labels.get(key)
        if known is None or known[0] is not pod.metadata.labels or known[1] is not topology:
            if len(self._zone_labels) > 4096:
                self._zone_labels.clear()
            known = pod.metadata.labels, topology, {**pod.metadata.labels, **topology}
            self._zone_labels[key] = known
        return known[2]

    def write_pod_status(self, key: str, uid: str, status: Raw) -> None:
        """Write a complete status from our own kubelet, which needs no validation. A gone pod is ignored."""
        found = self.world.get(KINDS.POD, key)
        if found is None or found.uid != uid:
            return
        view = _replace(found.view, status=self._merged_status(found.view.status, status))
        self._edit(found, view, _encode(status))

    def _merged_status(self, old: PodStatus, status: Raw) -> PodStatus:
        """Return the pod status with what a kubelet wrote: it is complete but for conditions of other components.

        Pods that are bound alike and started in the same second share their conditions.
        """
        told = status.get("conditions", [])
        known = self._conditions
        if known is None or known[0] is not old.conditions or known[1] != told:
            plain = [
                {name: value for name, value in one.items() if value is not None} for one in told if "$patch" not in one
            ]
            written = convert_view({"conditions": plain}, PodStatus).conditions
            types = {one.type for one in written}
            kept = tuple(one for one in old.conditions if one.type not in types)
            known = self._conditions = old.conditions, told, (*kept, *written)
        rest = {name: value for name, value in status.items() if name != "conditions"}
        view = convert_view(rest, PodStatus)
        return _replace(old, conditions=known[2], **{name: getattr(view, name) for name in rest})

    def evict(self, namespace: str, name: str) -> None:
        """Delete a pod if its disruption budget allows it (else ApiError 429)."""
        found = self.get(KINDS.POD, name, namespace)
        budgets = [(one.raw, one.view) for one in self.world.in_namespace(KINDS.POD_DISRUPTION_BUDGET, namespace)]
        verdict = decide_eviction(found.view, budgets, self.rules.now_text())
        if verdict.budget is not None:
            self.put(
                KINDS.POD_DISRUPTION_BUDGET,
                verdict.budget,
                convert_view(verdict.budget, KINDS.POD_DISRUPTION_BUDGET.view),
            )
        marked = marked_for_eviction(found.raw, self.rules.now_text())
        self.put(KINDS.POD, marked, convert_view(marked, Pod))
        self.delete(KINDS.POD, name, namespace)

    # -- storing ------------------------------------------------------------------------------------------------------

    def _change(self, kind: Kind, name: str, namespace: str, make: Callable[[Raw, Any], Changed]) -> Object:
        found = self.get(kind, name, namespace)
        old = found.raw
        changed = make(old, found.view)
        if changed.expected not in (None, found.revision):
            raise stale(kind, name)
        new = changed.admitted.object
        if new is old or new == old:
            return found
        if is_finalized(kind, new, old):
            self._remove(found)
            return found
        return self.put(kind, new, changed.admitted.view)

    def _edit(self, found: Object, view: Any, *edits: Edit) -> Object:
        assert isinstance(found, SimulatedObject)
        self._revision += 1
        new = found.edited(self._revision, view, *edits)
        self._publish(found.kind, found, new)
        return new

    def _publish(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        self.writes += 1
        if self.writes > self.max_writes:
            raise TooManyWrites
        self.world.put(kind, old, new)
        changed = new or old
        if changed is not None and kind is not KINDS.POD:
            stored = Stored(key_of(kind, changed.namespace, changed.name), b"", 1, 1, changed.view)
            (self.rules.directory.learn if new is not None else self.rules.directory.forget)(kind, stored)
        for listener in self.listeners:
            listener(kind, old, new)


def _key(kind: Kind, namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if kind.namespaced else name
