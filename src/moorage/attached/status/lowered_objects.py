"""Find what is lowered in a cluster: each object, what it compares, what it relies on, and what is wrong with it.

Old revisions count: `rollout undo` brings back the lowered template that a ReplicaSet or ControllerRevision keeps.
Pods that have ended do not count. Kubernetes: ReplicaSets and ControllerRevisions are the history of workloads.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec

from moorage.attach import formats
from moorage.attach.formats import Raw, is_match_label
from moorage.attach.pods import KEPT
from moorage.attach.refusals import is_version_comparison
from moorage.attach.tolerations import Pair, compared_pairs, is_comparing
from moorage.attached.controller.lowered_pods import (
    TEMPLATE_KINDS,
    is_touched,
    living_pod,
    pod_template,
    raw_affinity,
    read_lowered,
)
from moorage.attached.controller.repairing import Found, fault_of
from moorage.attached.status.snapshot import Snapshot
from moorage.client.protocol import Object
from moorage.control.framework.world import controller_of
from moorage.match.comparison import shown
from moorage.match.operators import EQUAL, NODE_SELECTOR, TOLERATION, comparison_of
from moorage.model.kinds import KINDS
from moorage.model.types.pod import NodeAffinity, Pod, PodTemplateSpec
from moorage.model.well_known.taints import NO_EXECUTE

_LONGEST_EXPRESSION = 80


class Reliance(StrEnum):
    """What of attach an object needs, so that it goes on meaning what it means."""

    MIRROR = "mirror"
    MATCH_LABELS = "match labels"
    VERSION_LABELS = "version labels"
    EVICTION = "eviction"


class LoweredObject(msgspec.Struct, frozen=True, eq=False):
    """An object with a lowered pod or template, or with something left of one.

    `versions` are the requirements on labels of nodes that compare versions. `is_history`: it only keeps a revision.
    `owner` is the controller that made it, as `Kind/name`.
    """

    kind: str
    namespace: str
    name: str
    tolerations: tuple[Raw, ...] = ()
    versions: tuple[Raw, ...] = ()
    relies_on: tuple[Reliance, ...] = ()
    owner: str = ""
    is_history: bool = False
    fault: Found | None = None

    @property
    def shown(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def comparing(self) -> list[Raw]:
        return [each for each in self.tolerations if is_comparing(each)]

    @property
    def pairs(self) -> list[Pair]:
        return compared_pairs(self.tolerations)

    def as_json(self) -> Raw:
        return {
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "compares": [*map(in_words, self.comparing), *map(requirement_in_words, self.versions)],
            "reliesOn": [each.value for each in self.relies_on],
            **({"owner": self.owner} if self.owner else {}),
            **({"isRevision": True} if self.is_history else {}),
            **({"problem": self.fault.text} if self.fault else {}),
        }


def in_words(toleration: Raw) -> str:
    """Write `spot > 950` or `spot of which int(taint.value) > 3 is true`, with the effect if there is one."""
    operator, value = toleration.get("operator") or EQUAL, str(toleration.get("value") or "")
    key, effect = toleration.get("key") or "every key", toleration.get("effect")
    if operator == formats.CEL:
        text = " ".join(value.split())
        short = text if len(text) <= _LONGEST_EXPRESSION else f"{text[: _LONGEST_EXPRESSION - 3]}..."
        told = f"{key} where {short}"
    elif operator == "Exists":
        told = f"{key} with any value"
    else:
        comparison = comparison_of(operator, TOLERATION)
        told = f"{key} {comparison.symbol if comparison is not None else '='} {shown(value)}"
        if operator.startswith("Semver"):
            told = f"{key} {comparison.symbol if comparison is not None else '='} version {shown(value)}"
    seconds = toleration.get("tolerationSeconds")
    return told + (f" ({effect})" if effect else "") + (f" for {seconds} s" if seconds is not None else "")


def requirement_in_words(expression: Raw) -> str:
    """Write `label example.com/driver > version 1.2.3`."""
    comparison = comparison_of(expression["operator"], NODE_SELECTOR)
    assert comparison is not None
    return f"label {expression['key']} {comparison.symbol} version {shown(expression['values'][0])}"


def lowered_objects(snapshot: Snapshot) -> list[LoweredObject]:
    """Return everything that is lowered, or has something left of it."""
    found: list[LoweredObject] = []
    for kind in (*TEMPLATE_KINDS, KINDS.POD):
        found += filter(None, map(_described, snapshot.of(kind)))
    found += _revisions(snapshot.of(KINDS.CONTROLLER_REVISION))
    return found


def _described(found: Object) -> LoweredObject | None:
    part: Pod | PodTemplateSpec | None = living_pod(found) if found.kind is KINDS.POD else pod_template(found)
    if part is None or not is_touched(part):
        return None
    owner = controller_of(found.view.metadata)
    lowered = read_lowered(part)
    tolerations = tuple(lowered.original.counting) if lowered is not None and lowered.original is not None else ()
    is_daemon = owner is not None and owner.kind == "DaemonSet"
    return LoweredObject(
        found.kind.name,
        found.namespace,
        found.name,
        tolerations,
        tuple(_versions(part)),
        tuple(_reliances(part, tolerations)),
        f"{owner.kind}/{owner.name}" if owner is not None else "",
        found.kind is KINDS.REPLICA_SET and owner is not None and not found.view.spec.replicas,
        fault_of(part, has_affinity=not is_daemon),
    )


def _reliances(part: Pod | PodTemplateSpec, tolerations: Sequence[Raw]) -> Iterator[Reliance]:
    affinity = part.spec.affinity.nodeAffinity if part.spec.affinity is not None else None
    keys = _keys_of(affinity) if affinity is not None else frozenset()
    if any(formats.is_of_taints(key) and not is_match_label(key) for key in keys):
        yield Reliance.MIRROR
    if any(map(is_match_label, keys)):
        yield Reliance.MATCH_LABELS
    if any(key.partition("/")[0].endswith(formats.LABEL_VERSION_DOMAIN) for key in keys):
        yield Reliance.VERSION_LABELS
    if any(pair.effect == NO_EXECUTE for pair in compared_pairs(tolerations)):
        yield Reliance.EVICTION


def _versions(part: Pod | PodTemplateSpec) -> Iterator[Raw]:
    """Yield the comparisons of versions that annotations have kept; none of those that cannot be read."""
    for name in (formats.NODE_AFFINITY, formats.PREFERRED_NODE_AFFINITY):
        try:
            terms = json.loads(part.metadata.annotations.get(name) or "[]")
        except (ValueError, RecursionError):
            continue
        for term in terms if isinstance(terms, list) else ():
            inner = term.get("preference", term) if isinstance(term, dict) else {}
            expressions = inner.get("matchExpressions") if isinstance(inner, dict) else None
            for each in expressions if isinstance(expressions, list) else ():
                if isinstance(each, dict) and is_version_comparison(each) and _is_readable(each):
                    yield each


def _is_readable(expression: Raw) -> bool:
    values = expression.get("values")
    return (
        isinstance(expression.get("key"), str)
        and comparison_of(expression["operator"], NODE_SELECTOR) is not None
        and isinstance(values, list)
        and len(values) == 1
        and isinstance(values[0], str)
    )


@lru_cache(4096)
def _keys_of(affinity: NodeAffinity) -> frozenset[str]:
    """Return the labels that node affinity names; many pods have the same."""
    return frozenset(_keys(raw_affinity(affinity)))


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("key"), str):
            yield value["key"]
        for each in value.values():
            yield from _keys(each)
    elif isinstance(value, list):
        for each in value:
            yield from _keys(each)


def _revisions(found: Iterable[Object]) -> Iterator[LoweredObject]:
    """Yield the revisions of StatefulSets and DaemonSets whose template has an annotation of ours."""
    for each in found:
        data: Any = each.raw.get("data")
        for name in ("spec", "template", "metadata", "annotations"):
            data = data.get(name) if isinstance(data, dict) else None
        if not isinstance(data, dict) or data.keys().isdisjoint(KEPT):
            continue
        owner = controller_of(each.view.metadata)
        name = f"{owner.kind}/{owner.name}" if owner is not None else ""
        yield LoweredObject(each.kind.name, each.namespace, each.name, owner=name, is_history=True)
