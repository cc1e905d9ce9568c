"""The API server of a simulation: the verbs of `serve` on objects in memory, carried out at once.

A verb is the very coroutine that the API server runs. Here nothing has to be waited for, so it runs to its end in one
step (`at_once`). Every write is published as an old and a new object to `listeners`. What happens to ten thousand equal
pods has shortcuts, each next to the verb it shortens and held to it by a law (`tests/laws/test_plan_laws.py`): pods
that differ by their names only are admitted once, and bindings, statuses of our own kubelets, conditions and deletions
are put into the typed view (`pod_edits`). `actor` names the component at work; deletions record it.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any, NamedTuple, Unpack

import msgspec

from moorage.admit.chain import Admission
from moorage.admit.extension.attributes import CREATE, DELETE, UPDATE
from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.extension.steps import Answer, Call
from moorage.admit.objects_world import ObjectsWorld
from moorage.admit.plugins.limit_ranger import ANNOTATION
from moorage.admit.world import Assumption
from moorage.client.http_wire import namespace_to_create_in, render_eviction
from moorage.client.protocol import DeletionDemands, Object, PatchType, Raw, Template
from moorage.control.framework.world import World
from moorage.lint.policies.offline_extensions import FOLLOWED, CallWebhooks, OfflineExtensions
from moorage.model.api_error import ApiError, no_such_path, not_found
from moorage.model.gates import GateSet
from moorage.model.generated_names import new_suffix, new_uid
from moorage.model.kinds import KINDS, Kind, Ref
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod, PodCondition, PodStatus
from moorage.plan.input.extensions.applied import AppliedExtensions
from moorage.plan.input.extensions.attached import AttachedExtensions
from moorage.plan.simulation.extensions import SimulatedDocuments, Subjects, document_of
from moorage.plan.simulation.pod_deletions import PodDeletions, read_demands
from moorage.plan.simulation.pod_edits import Bound, Edit, NewConditions, binding_to, edited
from moorage.plan.simulation.store import (
    DocumentValues,
    Listener,
    SimulatedQuotas,
    SimulatedStore,
    object_in,
    place_of,
)
from moorage.plan.simulation.usage import SimulatedObjects, metrics_api
from moorage.serve.access.component_users import user_of
from moorage.serve.requests.decoding import check_kind
from moorage.serve.requests.options import TRUST, WriteOptions
from moorage.serve.resources.served import target_of
from moorage.serve.subresources.pods import bind_to, evict
from moorage.serve.subresources.scale import get_scale, patch_scale, put_scale
from moorage.serve.templates.pods import Likeness
from moorage.serve.verbs.changing import replace
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.deleting import delete, finalize
from moorage.serve.verbs.patching import Patch, patch_object
from moorage.serve.verbs.registry import Registry, WriteResult, at_once
from moorage.usage.answers import read_path

_MANAGER = "simulation"
_OPTIONS = WriteOptions(_MANAGER, validation=TRUST, force=True)
#: For a cluster that never comes to rest.
MAX_WRITES = 100_000
_replace = msgspec.structs.replace
_encode = msgspec.json.Encoder().encode


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


class SimulatedRegistry(Registry):
    """What verbs work with in a simulation: nothing else happens meanwhile, and no field owners are noted."""

    is_busy = tracks_owners = False
    copies_new = True  # they are the controllers'
    keeps_internal = True
    values = DocumentValues()
    applied: AppliedExtensions
    extensions: OfflineExtensions
    call_webhooks: CallWebhooks | None = None

    async def answer(self, calls: Sequence[Call]) -> Sequence[Answer]:
        return self.extensions.answer(calls, self.call_webhooks)

    def note(self, extended: ExtendedRequest) -> None:
        self.applied.note(extended)


class SimulatedApi:
    """All objects of a simulated cluster, and the verbs that change them. Verbs raise ApiError."""

    def __init__(self, gates: GateSet, clock: Clock, random: Random) -> None:
        self.gates, self.clock, self.world = gates, clock, World()
        self.store = SimulatedStore(self.world, self._publish)
        self.directory = ObjectsWorld(is_complete=True)
        self.documents, self.subjects = SimulatedDocuments(self.world), Subjects()
        self.has_all: Callable[[str], bool] = lambda kind: self.directory.is_complete
        self.extensions = AttachedExtensions(gates, self.documents, lambda kind: self.has_all(kind))
        admission = self.admission = Admission(self.directory, gates, protects_storage=True, extensions=self.extensions)
        self.quotas = SimulatedQuotas(admission, self.world, self.store, clock)
        #: UIDs of the input, of which some were drawn from the same seed when it was planned before.
        self.taken_uids: set[str] = set()
        self._random = random
        self.registry = SimulatedRegistry(
            self.store,
            admission,
            self.directory,
            self.quotas,
            clock=clock,
            new_uid=self._new_uid,
            new_suffix=partial(new_suffix, random.random),
            collects_garbage=True,
        )
        self.registry.extensions = self.extensions
        self.registry.applied = self.applied = AppliedExtensions(self.subjects.find)
        self._options: dict[str, WriteOptions] = {}
        self.listeners: list[Listener] = []
        self._measured = SimulatedObjects(self.world, self.documents)
        self.usage = metrics_api(self._measured, self.world, clock.start)
        self.deletions: list[Deletion] = []
        self.created_pods: list[tuple[Object, float]] = []
        self.assumptions: list[tuple[Object, Assumption]] = []  # what was taken to exist, and for which object
        self.limited_pods: list[Object] = []  # those for which a LimitRange has set something
        self.actor = ""
        self.writes, self.max_writes = 0, MAX_WRITES
        #: What becomes of a new pod in a namespace where the cluster lowers pods.
        self.lower_pod: Callable[[Raw, str], Raw] | None = None
        self._lowered_pod: tuple[Raw, str, Raw] | None = None
        self._template: tuple[Raw, str, Likeness] | None = None
        self._conditions: tuple[tuple[PodCondition, ...], list[Raw], tuple[PodCondition, ...]] | None = None
        self._zone_labels: dict[tuple[int, int], tuple[dict[str, str], Mapping[str, str], dict[str, str]]] = {}
        self._bound_statuses: dict[int, tuple[PodStatus, str, PodStatus]] = {}
        self._new_conditions, self._pod_deletions = NewConditions(), PodDeletions()

    def _new_uid(self) -> str:
        while (uid := new_uid(self._random)) in self.taken_uids:
            pass
        return uid

    def get(self, kind: Kind, name: str, namespace: str = "") -> Object:
        found = self.world.get(kind, _key(kind, namespace, name))
        if found is None:
            raise not_found(kind, name)
        return found

    def now_text(self) -> str:
        """Return the time as objects have it."""
        return self.registry.now_text()

    def read(self, path: str) -> Raw:
        """Return what there is at a path: a Scale, or what pods and nodes use. Raises ApiError."""
        asked = read_path(path)
        if asked is not None:
            return self.usage.answer(asked, self.clock.now)
        target = target_of("GET", path)
        if target is None or target.subresource != "scale":
            raise no_such_path()
        return at_once(get_scale(self.registry, target.ref))

    # -- verbs --------------------------------------------------------------------------------------------------------

    def put(self, kind: Kind, raw: Raw, view: Any, template: Template | None = None) -> Object:
        """State that an object is stored, new or in the place of the one of its name: it was admitted elsewhere."""
        return self.store.put(kind, _key(kind, view.metadata.namespace, view.metadata.name), raw, view, template)

    def create(self, kind: Kind, document: Raw, namespace: str = "") -> Object:
        namespace = namespace_to_create_in(kind, document, namespace) if kind.namespaced else ""
        is_pod = kind is KINDS.POD
        if is_pod and self.lower_pod is not None:
            document = self._lowered(document, namespace, self.lower_pod)
        raw = {**document, "metadata": dict(document["metadata"])}
        check_kind(raw, kind)
        like = self._likeness(document, raw, namespace) if is_pod else None
        assumed_before = len(self.directory.all_assumed)
        try:
            made = object_in(at_once(create(self.registry, kind, namespace, raw, self.options, like=like)).stored)
        finally:  # also if it is refused for another reason
            if len(self.directory.all_assumed) > assumed_before:
                wanted = Object(kind, _key(kind, namespace, raw["metadata"].get("name") or ""), 0, raw=raw)
                self.assumptions += [(wanted, assumption) for assumption in self.directory.all_assumed[assumed_before:]]
        if is_pod:
            self.created_pods.append((made, self.clock.now))
            if ANNOTATION in made.view.metadata.annotations:
                self.limited_pods.append(made)
        return made

    def _lowered(self, document: Raw, namespace: str, lower_pod: Callable[[Raw, str], Raw]) -> Raw:
        """Return what a cluster makes of a pod that lowers it; controllers hand over one document for many pods."""
        known = self._lowered_pod
        if known is None or known[0] is not document or known[1] != namespace:
            known = self._lowered_pod = document, namespace, lower_pod(document, namespace)
        return known[2]

    def _likeness(self, document: Raw, raw: Raw, namespace: str) -> Likeness:
        """Return the fingerprint of all but the name; controllers hand over one document for many pods."""
        known = self._template
        if known is None or known[0] is not document or known[1] != namespace:
            known = self._template = document, namespace, self.registry.templates.likeness(raw, namespace, _MANAGER)
        return known[2]

    def update(self, kind: Kind, document: Raw, subresource: str = "") -> Object:
        metadata = dict(document["metadata"])
        raw = {**document, "metadata": metadata}
        name = metadata["name"]
        ref = Ref(kind, metadata.get("namespace") or "" if kind.namespaced else "", name)
        if subresource != "scale":
            check_kind(raw, kind)
        if subresource == "finalize":
            at_once(finalize(self.registry, name, raw, self.options))
        elif subresource == "scale":
            at_once(put_scale(self.registry, ref, raw, self.options))
        else:
            return self._object(replace(self.registry, ref, raw, self.options, subresource))
        return self.get(kind, ref.name, ref.namespace)

    def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        patch: Raw | list[Raw],
        subresource: str = "",
        patch_type: PatchType = PatchType.STRATEGIC,
    ) -> Object:
        is_report = kind is KINDS.POD and subresource == "status" and patch_type is PatchType.STRATEGIC
        if is_report and not self.asks(UPDATE, "status"):
            found = self.get(kind, name, namespace)
            added = self._new_conditions.added(found, patch)
            if added is not None:
                return self._edit(found, *added)
        ref, sent = Ref(kind, namespace if kind.namespaced else "", name), Patch(patch_type.value, patch)
        if subresource == "scale":
            at_once(patch_scale(self.registry, ref, sent, self.options))
            return self.get(kind, name, namespace)
        return self._object(patch_object(self.registry, ref, sent, self.options, subresource))

    def delete(self, kind: Kind, name: str, namespace: str = "", **demands: Unpack[DeletionDemands]) -> None:
        if kind is KINDS.POD and not self.asks(DELETE):
            found = self.get(kind, name, namespace)
            plain = self._pod_deletions.decide(found, demands, int(self.clock.now))
            if plain is not None:
                if plain.removes:
                    self.store.remove(found)
                elif plain.edit is not None:
                    self._edit(found, plain.marked(found.view), plain.edit)
                return
        ref = Ref(kind, namespace if kind.namespaced else "", name)
        at_once(delete(self.registry, ref, read_demands(demands), self.options))

    def delete_with_condition(self, key: str, patch: Raw | list[Raw], demands: DeletionDemands) -> bool:
        """Add a condition to a pod and mark it as deleted, which is told as one change: watches need not show both.

        Return False, with nothing done, if that takes more than putting it into the pod's view.
        """
        if self.asks(UPDATE, "status") or self.asks(DELETE):
            return False
        found = self.world.get(KINDS.POD, key)
        added = self._new_conditions.added(found, patch) if found is not None else None
        if found is None or added is None:
            return False
        plain = self._pod_deletions.decide(found, demands, int(self.clock.now))
        if plain is None or plain.edit is None:
            return False
        self.store.revision += 1
        self.writes += 1
        self._edit(found, plain.marked(added[0]), added[1], plain.edit)
        return True

    def bind(self, key: str, uid: str, node: str) -> None:
        """Put a pod on a node. Pods of one template that are bound in one second share their new status."""
        found = self.world.get(KINDS.POD, key)
        namespace, _, name = key.rpartition("/")
        if found is None:
            raise not_found(KINDS.POD, name)
        pod: Pod = found.view
        now = self.now_text()
        known = self._bound_statuses.get(id(pod.status))
        is_plain = pod.metadata.deletionTimestamp is None and not pod.spec.nodeName and pod.metadata.uid == uid
        is_known = known is not None and known[0] is pod.status and known[1] == now
        if is_plain and known is not None and is_known and not self.asks(CREATE, "binding"):
            topology = self.directory.topology_of(node)
            view = _replace(pod, spec=_replace(pod.spec, nodeName=node), status=known[2])
            if topology:
                view = _replace(view, metadata=_replace(pod.metadata, labels=self._labels_on(pod, topology)))
            self._edit(found, view, Bound(node, now, topology))
            return
        at_once(bind_to(self.registry, namespace, name, binding_to(name, uid, node), self.options))
        if len(self._bound_statuses) > 4096:
            self._bound_statuses.clear()
        self._bound_statuses[id(pod.status)] = pod.status, now, self.get(KINDS.POD, name, namespace).view.status

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
        if self.asks(UPDATE, "status"):
            with suppress(ApiError):  # a kubelet would try for ever
                self.patch(KINDS.POD, found.name, found.namespace, {"status": status}, "status")
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
        at_once(evict(self.registry, namespace, name, render_eviction(namespace, name, ""), self.options))

    @property
    def options(self) -> WriteOptions:
        """Return the options of a request of the component at work. Who it is matters to policies and webhooks only."""
        if self.extensions.is_empty:
            return _OPTIONS
        options = self._options.get(self.actor)
        if options is None:
            options = self._options[self.actor] = _replace(_OPTIONS, user=user_of(self.actor))
        return options

    def asks(self, operation: str, subresource: str = "") -> bool:
        """Return whether policies or webhooks may be about such requests for pods, so that there are no shortcuts."""
        return self.admission.is_extended(operation, KINDS.POD, subresource)

    # -- storing ------------------------------------------------------------------------------------------------------

    def _object(self, verb: Coroutine[Any, Any, WriteResult]) -> Object:
        """Carry out a verb; return the object that it has written, or what it was last if it is gone."""
        outcome = at_once(verb)
        stored = outcome.stored
        if outcome.deleted:
            kind, key = place_of(stored.key)
            last: Any = stored.value
            return Object(kind, key, stored.revision, raw=last, view=stored.view)
        return object_in(stored)

    def _edit(self, found: Object, view: Any, *edits: Edit) -> Object:
        new = edited(found, self.store.revision + 1, view, *edits)
        self.store.replace(found, new)
        return new

    def _publish(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        self.writes += 1
        self._measured.changed(kind, old, new)
        if self.writes > self.max_writes:
            raise TooManyWrites
        self.world.put(kind, old, new)
        changed = new or old
        if kind is KINDS.POD:
            is_staying = old is not None and old.view.metadata.deletionTimestamp is None
            if is_staying and old is not None and (new is None or new.view.metadata.deletionTimestamp is not None):
                self.deletions.append(Deletion(old, self.clock.now, self.actor))
        elif changed is not None:
            if kind is KINDS.RESOURCE_QUOTA:
                self.quotas.accounts.add(changed.namespace)
            if new is not None:
                self.directory.put(kind, new.key, new.view)
            else:
                self.directory.drop(kind, changed.key)
            if kind in FOLLOWED:
                self._follow(kind, new, changed)
        for listener in self.listeners:
            listener(kind, old, new)

    def _follow(self, kind: Kind, new: Object | None, last: Object) -> None:
        """Let policies, webhooks and what they look up be known from now on, or no more."""
        if new is not None:
            self.extensions.learn(kind, new.view, document_of(new))
        else:
            self.extensions.forget(kind, last.view)


def _key(kind: Kind, namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if kind.namespaced else name
