"""Every node selector requirement of an object, with its path: of pods, of templates, of PersistentVolumes.

In: a `Subject`. Out: (path, requirement) pairs of matchExpressions, required and preferred. Kubernetes: the same
fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.lint.subject import Subject
    from moorage.model.types.node import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def node_requirements(subject: Subject) -> Iterator[tuple[str, NodeSelectorRequirement]]:
    if subject.kind == "PersistentVolume":
        affinity = subject.view.spec.nodeAffinity
        if affinity is not None and affinity.required is not None:
            yield from _of_selector(affinity.required, "spec.nodeAffinity.required")
        return
    pods = subject.pods
    if pods is None or pods.spec.affinity is None or pods.spec.affinity.nodeAffinity is None:
        return
    node_affinity, path = pods.spec.affinity.nodeAffinity, f"{pods.spec_path}.affinity.nodeAffinity"
    if node_affinity.requiredDuringSchedulingIgnoredDuringExecution is not None:
        yield from _of_selector(node_affinity.requiredDuringSchedulingIgnoredDuringExecution, f"{path}.{_REQUIRED}")
    for index, preferred in enumerate(node_affinity.preferredDuringSchedulingIgnoredDuringExecution):
        yield from _of_term(preferred.preference, f"{path}.{_PREFERRED}[{index}].preference")


def _of_selector(selector: NodeSelector, path: str) -> Iterator[tuple[str, NodeSelectorRequirement]]:
    for index, term in enumerate(selector.nodeSelectorTerms):
        yield from _of_term(term, f"{path}.nodeSelectorTerms[{index}]")


def _of_term(term: NodeSelectorTerm, path: str) -> Iterator[tuple[str, NodeSelectorRequirement]]:
    for index, requirement in enumerate(term.matchExpressions):
        yield f"{path}.matchExpressions[{index}]", requirement
