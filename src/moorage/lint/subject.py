"""Describe what a rule looks at: an object, its pods' metadata and spec, and its places in the input."""

from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.lint.finding import Lines, Severity, SourcePlace, text_to_keep
from moorage.match.devices.tolerations import as_toleration
from moorage.match.label_keys import PREFERRED, REQUIRED
from moorage.model.kinds import Kind
from moorage.model.text.documents import Document
from moorage.model.types.devices import DeviceSubRequest, ExactDeviceRequest, ResourceClaimSpec
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.node import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.model.types.pod import PodSpec, Toleration
from moorage.model.well_known.labels import (
    CONTROLLER_UID,
    JOB_COMPLETION_INDEX,
    JOB_NAME,
    LEGACY_CONTROLLER_UID,
    LEGACY_JOB_NAME,
    POD_INDEX,
    POD_NAME,
    POD_TEMPLATE_HASH,
    REVISION_HASH,
)

#: Labels that the controllers of a kind put on the pods they make, beside those of the template.
CONTROLLER_LABELS: dict[str, tuple[str, ...]] = {
    "Pod": (),
    "Deployment": (POD_TEMPLATE_HASH,),
    "ReplicaSet": (),
    "ReplicationController": (),
    "StatefulSet": (
        REVISION_HASH,
        POD_NAME,
        POD_INDEX,
    ),
    "DaemonSet": (REVISION_HASH, "pod-template-generation"),
    "Job": (
        CONTROLLER_UID,
        JOB_NAME,
        JOB_COMPLETION_INDEX,
        LEGACY_CONTROLLER_UID,
        LEGACY_JOB_NAME,
    ),
}
CONTROLLER_LABELS["CronJob"] = CONTROLLER_LABELS["Job"]
_TEMPLATE_PATHS = {"Pod": "", "CronJob": "spec.jobTemplate.spec.template."}


class Complaint(msgspec.Struct, frozen=True):
    """A rule's message about the field at `path`, before its place in the input is known."""

    rule: str
    path: str
    message: str
    hint: str = ""
    api_server: bool = False
    #: Where it differs from that of the rule.
    severity: Severity | None = None


#: A complaint about an object that may be long gone when all input is read.
PlacedComplaint = tuple[Complaint, SourcePlace]


class PodPart(msgspec.Struct, frozen=True):
    """Metadata and spec of the pods an object is or makes; `path` leads there and ends in a dot, or is empty."""

    metadata: ObjectMeta
    spec: PodSpec
    path: str

    @property
    def spec_path(self) -> str:
        return f"{self.path}spec"


class TolerationList(msgspec.Struct, frozen=True):
    """Tolerations that are read together: those of pods, or `of_devices` those of a request for devices."""

    path: str
    tolerations: tuple[Toleration, ...]
    of_devices: bool = False


class Subject(msgspec.Struct, frozen=True):
    """An object with its kind, its typed view and, if it has pods, their part of it."""

    document: Document
    kind: str
    view: Any
    pods: PodPart | None
    served: Kind
    lines: Lines

    def place(self, path: str) -> SourcePlace:
        return place_in(self.document, self.served, self.lines, path)


def place_in(document: Document, kind: Kind | None, lines: Lines, path: str) -> SourcePlace:
    """Return where a field is in the input, or the nearest field around it that is written down."""
    written = _as_written(document, kind, path)
    line, column = document.location(written)
    name, text = identity(document.raw, kind), text_to_keep(lines.line(line), column)
    alias = document.alias(written) if document.has_aliases else None
    return SourcePlace(document.source, line, column, name, path, text, alias)


def _as_written(document: Document, kind: Kind | None, path: str) -> str:
    """Return the path of a field in the version that the document is written in.

    In v1beta1 of resource.k8s.io a request has no `exactly`, and a device has its fields below `basic`.
    """
    if kind is None or kind.group != "resource.k8s.io":
        return path
    before, found, after = path.partition("].exactly")
    if found:
        return path if _stands(document, f"{before}]", "exactly") else f"{before}]{after}"
    before, found, after = path.partition("].")
    if before.startswith("spec.devices[") and found and _stands(document, f"{before}].basic", after.partition(".")[0]):
        return f"{before}].basic.{after}"
    return path


def _stands(document: Document, path: str, field: str) -> bool:
    return document.location(f"{path}.{field.partition('[')[0]}") != document.location(path)


def identity(raw: dict[str, Any], kind: Kind | None) -> str:
    """`Pod default/web`, whatever the metadata hold; without a namespace if the kind is unknown or has none."""
    metadata = raw.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name, generated = metadata.get("name"), metadata.get("generateName")
    shown = name if isinstance(name, str) and name else f"{generated}*" if isinstance(generated, str) else "(unnamed)"
    if kind is None or not kind.namespaced:
        return f"{raw['kind']} {shown}"
    namespace = metadata.get("namespace")
    return f"{raw['kind']} {namespace if isinstance(namespace, str) and namespace else 'default'}/{shown}"


def pod_part_of(kind: str, view: Any) -> PodPart | None:
    if kind not in CONTROLLER_LABELS:
        return None
    if kind == "Pod":
        return PodPart(view.metadata, view.spec, "")
    template = view.spec.jobTemplate.spec.template if kind == "CronJob" else view.spec.template
    return PodPart(template.metadata, template.spec, _TEMPLATE_PATHS.get(kind, "spec.template."))


def claim_spec_of(kind: str, view: Any) -> tuple[str, ResourceClaimSpec] | None:
    """Return the spec of a ResourceClaim, or of the claims that a template makes, with its path."""
    if kind == "ResourceClaim":
        return "spec", view.spec
    return ("spec.spec", view.spec.spec) if kind == "ResourceClaimTemplate" else None


def device_requests(kind: str, view: Any) -> Iterator[tuple[str, ExactDeviceRequest | DeviceSubRequest]]:
    """Yield every request and subrequest for devices, with its path."""
    claim = claim_spec_of(kind, view)
    if claim is None:
        return
    path, spec = claim
    for index, request in enumerate(spec.devices.requests):
        where = f"{path}.devices.requests[{index}]"
        if request.exactly is not None:
            yield f"{where}.exactly", request.exactly
        for number, alternative in enumerate(request.firstAvailable):
            yield f"{where}.firstAvailable[{number}]", alternative


def toleration_lists(subject: Subject) -> Iterator[TolerationList]:
    """Yield the tolerations of pods and of requests for devices, where there are any."""
    if subject.pods is not None:
        if subject.pods.spec.tolerations:
            yield TolerationList(f"{subject.pods.spec_path}.tolerations", tuple(subject.pods.spec.tolerations))
        return
    for path, request in device_requests(subject.kind, subject.view):
        if request.tolerations:
            yield TolerationList(f"{path}.tolerations", tuple(map(as_toleration, request.tolerations)), True)


def node_requirements(kind: str, view: Any, pods: PodPart | None) -> Iterator[tuple[str, NodeSelectorRequirement]]:
    """Yield every node selector requirement of pods, templates, PersistentVolumes and ResourceSlices, with its path."""
    if kind == "PersistentVolume":
        affinity = view.spec.nodeAffinity
        if affinity is not None and affinity.required is not None:
            yield from _of_selector(affinity.required, "spec.nodeAffinity.required")
        return
    if kind == "ResourceSlice":
        if view.spec.nodeSelector is not None:
            yield from _of_selector(view.spec.nodeSelector, "spec.nodeSelector")
        for index, device in enumerate(view.spec.devices):
            if device.nodeSelector is not None:
                yield from _of_selector(device.nodeSelector, f"spec.devices[{index}].nodeSelector")
        return
    if pods is None or pods.spec.affinity is None or pods.spec.affinity.nodeAffinity is None:
        return
    node_affinity, path = pods.spec.affinity.nodeAffinity, f"{pods.spec_path}.affinity.nodeAffinity"
    if node_affinity.requiredDuringSchedulingIgnoredDuringExecution is not None:
        yield from _of_selector(node_affinity.requiredDuringSchedulingIgnoredDuringExecution, f"{path}.{REQUIRED}")
    for index, preferred in enumerate(node_affinity.preferredDuringSchedulingIgnoredDuringExecution):
        yield from _of_term(preferred.preference, f"{path}.{PREFERRED}[{index}].preference")


def _of_selector(selector: NodeSelector, path: str) -> Iterator[tuple[str, NodeSelectorRequirement]]:
    for index, term in enumerate(selector.nodeSelectorTerms):
        yield from _of_term(term, f"{path}.nodeSelectorTerms[{index}]")


def _of_term(term: NodeSelectorTerm, path: str) -> Iterator[tuple[str, NodeSelectorRequirement]]:
    for index, requirement in enumerate(term.matchExpressions):
        yield f"{path}.matchExpressions[{index}]", requirement
