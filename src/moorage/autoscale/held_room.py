"""Keep room by CapacityBuffers: imagined pods that wait like real ones, and what each buffer's status says.

An autoscaler finds places for these pods wherever it finds places for waiting ones; they exist nowhere else. What a
buffer refers to is read again whenever it changes. Kubernetes: Cluster Autoscaler, capacitybuffer (translators) and
processors/capacitybuffer; Karpenter, pkg/controllers/capacitybuffer and pkg/state/virtualpods. Differs: a percentage is
one of the replicas that a workload asks for; Cluster Autoscaler copies the pod of each buffer into a PodTemplate of its
own, and lets quotas bound it.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar

import msgspec

from moorage.autoscale.node_kinds import with_requests
from moorage.client.protocol import Object
from moorage.columns.resources import pod_requests
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.pod import Pod
from moorage.pools.buffers import NoSize, pods_of_buffer
from moorage.pools.node_template import Buffer, Raw

READY, PROVISIONING = "ReadyForProvisioning", "Provisioning"
API_VERSION, KIND = "autoscaling.x-k8s.io/v1beta1", "CapacityBuffer"
#: No more pods than these are imagined, of all buffers together.
MAX_PODS = 10_000
_replace = msgspec.structs.replace


class Condition(msgspec.Struct, frozen=True, rename="camel"):
    """A condition of a buffer's status, and since when it is so, in seconds of the day."""

    type: str
    status: bool
    reason: str
    message: str
    since: float


class Template(msgspec.Struct, frozen=True):
    """What the pods of a buffer are like, and how many replicas their workload asks for, if it is one."""

    metadata: Raw
    spec: Raw
    replicas: int | None


class NotFound(Exception):
    """What a buffer refers to is not there: the reason and message of its condition."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


class BufferState(msgspec.Struct):
    """A buffer, for how many pods it keeps room, and its conditions by type; no number where that cannot be said."""

    buffer: Buffer
    replicas: int | None = None
    conditions: dict[str, Condition] = {}

    def set(self, type_: str, status: bool, reason: str, message: str, now: float) -> None:
        """Set a condition. It is as old as its last change of status."""
        before = self.conditions.get(type_)
        since = before.since if before is not None and before.status is status else now
        self.conditions[type_] = Condition(type_, status, reason, message, since)

    @property
    def is_ready(self) -> bool:
        ready = self.conditions.get(READY)
        return ready is not None and ready.status

    @property
    def reference(self) -> Raw:
        """The buffer as Events refer to it."""
        return {"apiVersion": API_VERSION, "kind": KIND, "namespace": self.buffer.namespace, "name": self.buffer.name}


class HeldRoom:
    """The buffers of one autoscaler, and the pods that it imagines for them."""

    #: The kinds of workload that a buffer may be about, and the fields with their number of pods.
    scalable: ClassVar[Mapping[Kind, str]]

    def __init__(self, buffers: Iterable[Buffer] = (), templates: Mapping[str, Raw] | None = None) -> None:
        """PodTemplates that the cluster does not have are looked up in `templates`, by namespace and name."""
        self.states = [BufferState(one, conditions={}) for one in buffers if one.is_active]
        self._templates = templates or {}
        #: The pods by key, and the buffer of each.
        self.pods: dict[str, Pod] = {}
        self.of_pod: dict[str, BufferState] = {}
        self._targets = {target for one in self.states if (target := self._target(one.buffer)) is not None}
        self.kinds: tuple[Kind, ...] = tuple(dict.fromkeys(kind for kind, _ in self._targets))
        self._is_due = bool(self.states)

    def _target(self, buffer: Buffer) -> tuple[Kind, str] | None:
        if buffer.pod_template:
            return KINDS.POD_TEMPLATE, f"{buffer.namespace}/{buffer.pod_template}"
        kind = self.kind_of(buffer)
        return None if kind is None else (kind, f"{buffer.namespace}/{buffer.workload}")

    def kind_of(self, buffer: Buffer) -> Kind | None:
        """Return the kind of a buffer's workload, if it is one that is followed."""
        group = self.group_of(buffer)
        return next((kind for kind in self.scalable if (kind.group, kind.name) == (group, buffer.workload_kind)), None)

    def group_of(self, buffer: Buffer) -> str:
        return buffer.workload_group

    # -- what changes -------------------------------------------------------------------------------------------------

    def note(self, kind: Kind, old: Object | None, new: Object | None) -> bool:
        """Take in a change; return whether buffers are about this object, and it asks for something else now."""
        changed = new or old
        if changed is None or (kind, changed.key) not in self._targets:
            return False
        if old is not None and new is not None and _asks(old) == _asks(new):
            return False
        self._is_due = True
        return True

    def take_in(self, world: World, now: float) -> bool:
        """Imagine the pods of all buffers, if anything changed that they depend on; return whether it did."""
        if not self._is_due:
            return False
        self._is_due = False
        self.pods, self.of_pod = {}, {}
        for state in self.states:
            try:
                template = self._template_of(state.buffer, world)
                pod = self._pod(state.buffer, template)
                state.replicas = self.count(state.buffer, pod, template.replicas)
            except NotFound as problem:
                state.replicas = None
                state.set(READY, False, problem.reason, problem.message, now)
                continue
            except NoSize as problem:
                state.replicas = None
                self.has_no_size(state, str(problem), now)
                continue
            self.is_resolved(state, now)
            room = MAX_PODS - len(self.pods)
            for number in range(1, min(state.replicas, room) + 1):
                name = f"capacity-buffer-{state.buffer.name}-{number}"
                key = f"{state.buffer.namespace}/{name}"
                self.pods[key] = _replace(pod, metadata=_replace(pod.metadata, name=name, uid=f"{key}@buffer"))
                self.of_pod[key] = state
        return True

    def _template_of(self, buffer: Buffer, world: World) -> Template:
        target = self._target(buffer)
        if target is None:
            raise self.not_supported(buffer)
        kind, key = target
        found = world.get(kind, key)
        raw = found.raw if found is not None else self._templates.get(key) if kind is KINDS.POD_TEMPLATE else None
        if raw is None:
            raise self.not_found(buffer, kind)
        if kind is KINDS.POD_TEMPLATE:
            template, replicas = raw.get("template"), None
        else:
            spec = raw.get("spec") or {}
            template, replicas = spec.get("template"), spec.get(self.scalable[kind])
            replicas = 1 if replicas is None else int(replicas)
        if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
            raise self.not_found(buffer, kind)
        return Template(template.get("metadata") or {}, self.prepared(template["spec"]), replicas)

    def _pod(self, buffer: Buffer, template: Template) -> Pod:
        owner = {"apiVersion": API_VERSION, "kind": KIND, "name": buffer.name, "uid": buffer.key, "controller": True}
        metadata = {
            "name": "placeholder",
            "namespace": buffer.namespace,
            "labels": template.metadata.get("labels") or {},
            "annotations": {**(template.metadata.get("annotations") or {}), **self.annotations(buffer)},
            "ownerReferences": [owner],
        }
        spec = {name: value for name, value in template.spec.items() if name != "nodeName"}
        try:
            pod = convert_view({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, Pod)
        except ConversionError as error:
            first = error.problems[0]
            raise self.not_readable(f"{first.path}: {first.reason}") from None
        return _replace(pod, spec=_replace(pod.spec, containers=tuple(map(with_requests, pod.spec.containers))))

    def count(self, buffer: Buffer, pod: Pod, replicas: int | None) -> int:
        """Return for how many pods a buffer keeps room. Raises NoSize."""
        return pods_of_buffer(buffer, pod_requests(pod.spec), replicas)

    def by_buffer(self, keys: Iterable[str]) -> list[tuple[BufferState, list[str]]]:
        """Return the buffers to which some imagined pods belong, each with their keys."""
        found: dict[str, tuple[BufferState, list[str]]] = {}
        for key in keys:
            state = self.of_pod[key]
            found.setdefault(state.buffer.key, (state, []))[1].append(key)
        return list(found.values())

    # -- what autoscalers do differently ------------------------------------------------------------------------------

    def prepared(self, spec: Raw) -> Raw:
        """Return the spec of a template without what imagined pods cannot have."""
        return spec

    @abstractmethod
    def annotations(self, buffer: Buffer) -> dict[str, str]: ...

    @abstractmethod
    def is_resolved(self, state: BufferState, now: float) -> None:
        """Set the condition of a buffer whose pods are known."""

    @abstractmethod
    def has_no_size(self, state: BufferState, problem: str, now: float) -> None:
        """Set the condition of a buffer that does not say how many pods it has."""

    @abstractmethod
    def not_found(self, buffer: Buffer, kind: Kind) -> NotFound: ...

    @abstractmethod
    def not_supported(self, buffer: Buffer) -> NotFound: ...

    @abstractmethod
    def not_readable(self, problem: str) -> NotFound: ...


def _asks(found: Object) -> object:
    raw = found.raw
    return raw.get("spec"), raw.get("template")
