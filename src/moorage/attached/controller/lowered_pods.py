"""Read lowered pods and pod templates from their views: what their tolerations mean, and which questions they ask.

An annotation that is not what lowering has written counts for nothing; `problem` says what is wrong with it.
Kubernetes: knows nothing of it.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from moorage.attach import formats
from moorage.attach.formats import Raw
from moorage.attach.lowering import OriginalTolerations, original_tolerations
from moorage.attach.objects import POD_PATHS
from moorage.attach.pods import KEPT
from moorage.attach.questions import MatchQuestion, asked_labels, match_questions
from moorage.attach.refusals import Refused, Unreadable
from moorage.attach.tolerations import is_comparing, without_empty
from moorage.client.protocol import Object
from moorage.control.framework.world import controller_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.pod import NodeAffinity, Pod, PodTemplateSpec, Toleration

_REMEMBERED = 4096
#: Kinds with pod templates, of which pods will be made.
TEMPLATE_KINDS: tuple[Kind, ...] = tuple(kind for kind in POD_PATHS if kind is not KINDS.POD)

_Like = Pod | PodTemplateSpec
Tolerations = tuple[Toleration, ...]


class Lowered(NamedTuple):
    """What is known of a lowered pod. If the original cannot be read, `problem` says why."""

    original: OriginalTolerations | None
    problem: str = ""

    @property
    def compares(self) -> bool:
        return self.original is not None and any(map(is_comparing, self.original.counting))


class Identity(NamedTuple):
    """All that decides what a lowered pod means: our annotations, and its tolerations."""

    annotations: tuple[tuple[str, str], ...]
    tolerations: Tolerations


def identity_of(pod: _Like) -> Identity:
    annotations = pod.metadata.annotations
    kept = tuple((name, annotations[name]) for name in KEPT if name in annotations) if annotations else ()
    return Identity(kept, pod.spec.tolerations)


def has_marker(pod: _Like) -> bool:
    return any(toleration.key == formats.MARKER_KEY for toleration in pod.spec.tolerations)


def is_touched(pod: _Like) -> bool:
    """Whether a pod or template is lowered, or has something left of it."""
    annotations = pod.metadata.annotations
    return (bool(annotations) and not annotations.keys().isdisjoint(KEPT)) or has_marker(pod)


def read_lowered(pod: _Like) -> Lowered | None:
    """Return what a lowered pod means; None if it has no marker."""
    return read_identity(identity_of(pod)) if has_marker(pod) else None


@lru_cache(_REMEMBERED)
def read_identity(identity: Identity) -> Lowered | None:
    """Return what a pod with this identity means; None if it has no marker."""
    tolerations = [raw_toleration(each) for each in identity.tolerations]
    document: Raw = {"metadata": {"annotations": dict(identity.annotations)}, "spec": {"tolerations": tolerations}}
    try:
        original = original_tolerations(document)
    except (Refused, Unreadable) as error:
        return Lowered(None, str(error))
    return None if original is None else Lowered(original)


def raw_toleration(toleration: Toleration) -> Raw:
    """Return a toleration as its manifest has it."""
    return without_empty({name: getattr(toleration, name) for name in toleration.__struct_fields__})


def asked_questions(pod: _Like) -> tuple[MatchQuestion, ...]:
    """Return the questions that a pod asks: its affinity names their labels, and they follow from its annotation."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.nodeAffinity is None or not has_marker(pod):
        return ()
    return _asked(identity_of(pod), affinity.nodeAffinity)


@lru_cache(_REMEMBERED)
def _asked(identity: Identity, affinity: NodeAffinity) -> tuple[MatchQuestion, ...]:
    labels = named_labels(affinity)
    lowered = read_identity(identity) if labels else None
    if lowered is None or lowered.original is None:
        return ()
    return tuple(each for each in match_questions(lowered.original.lowered) if each.label in labels)


@lru_cache(_REMEMBERED)
def named_labels(affinity: NodeAffinity) -> frozenset[str]:
    """Return the match labels that node affinity names."""
    return frozenset(asked_labels({"affinity": {"nodeAffinity": raw_affinity(affinity)}}))


def raw_affinity(affinity: NodeAffinity) -> Raw:
    """Return node affinity as its manifest has it."""
    raw: Raw = _without_empty_fields(msgspec.to_builtins(affinity))
    return raw


def _without_empty_fields(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_empty_fields(each) for name, each in value.items() if each not in ("", (), None)}
    return [_without_empty_fields(each) for each in value] if isinstance(value, tuple) else value


def template_of(found: Object) -> PodTemplateSpec | None:
    """Return the pod template of an object from which pods may still be made.

    None of a ReplicaSet that a controller owns, whose owner has it too, and of a Job that has ended.
    """
    if found.kind is KINDS.REPLICA_SET and controller_of(found.view.metadata) is not None:
        return None
    if found.kind is KINDS.JOB and any(
        each.type in ("Complete", "Failed") and each.status == "True" for each in found.view.status.conditions
    ):
        return None
    return pod_template(found)


def pod_template(found: Object) -> PodTemplateSpec | None:
    """Return the pod template of an object, whatever becomes of it."""
    view: Any = found.view
    for name in POD_PATHS[found.kind]:
        view = getattr(view, name)
    return view if isinstance(view, PodTemplateSpec) else None


def living_pod(found: Object) -> Pod | None:
    """Return a pod that runs or will run."""
    pod: Pod = found.view
    return None if pod.status.phase in ("Succeeded", "Failed") else pod


def asking_part(found: Object) -> _Like | None:
    """Return the part of an object that may ask questions of nodes."""
    read: Callable[[Object], _Like | None] = living_pod if found.kind is KINDS.POD else template_of
    return read(found)
