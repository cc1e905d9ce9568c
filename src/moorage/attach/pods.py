"""Read and write the parts of pods and pod templates that lowering is about: tolerations, node affinity, annotations.

Kubernetes: PodTemplateSpec, of which a null is an absent field or an empty element.
"""

from collections.abc import Iterable
from typing import Any

from moorage.attach import formats
from moorage.attach.formats import Raw, written
from moorage.attach.node_affinity import compares_versions, preferences, required_terms
from moorage.attach.refusals import Unreadable
from moorage.attach.tolerations import is_comparing, is_marker
from moorage.model.field_error import child_path
from moorage.model.schema.conversion import ConversionError, TypeProblem, convert_view
from moorage.model.types.pod import PodTemplateSpec

KEPT = (formats.FORMAT, formats.TOLERATIONS, formats.NODE_AFFINITY, formats.PREFERRED_NODE_AFFINITY)


def concerns_pod(pod: Any) -> bool:
    """Whether there is something to lower, or that was lowered; of any value at all."""
    return isinstance(_mapping(pod).get("spec"), dict) and (has_traces(pod) or compares(pod))


def has_traces(pod: Any) -> bool:
    """Whether a pod or template of any value is lowered, or has something left of it."""
    spec = _mapping(pod).get("spec")
    if not isinstance(spec, dict):
        return False
    annotations = _mapping(_mapping(_mapping(pod).get("metadata")).get("annotations"))
    return any(name in annotations for name in KEPT) or any(map(is_marker, _mappings(spec.get("tolerations"))))


def compares(pod: Any) -> bool:
    """Whether a pod or template of any value compares what Kubernetes does not know."""
    spec = _mapping(_mapping(pod).get("spec"))
    affinity = _mapping(_mapping(spec.get("affinity")).get("nodeAffinity"))
    required = _mapping(affinity.get("requiredDuringSchedulingIgnoredDuringExecution")).get("nodeSelectorTerms")
    preferred = _mappings(affinity.get("preferredDuringSchedulingIgnoredDuringExecution"))
    terms = [*_mappings(required), *(_mapping(each.get("preference")) for each in preferred)]
    return any(
        is_comparing(each) or bool(each.get("expression")) for each in _mappings(spec.get("tolerations"))
    ) or any(compares_versions({"matchExpressions": _mappings(each.get("matchExpressions"))}) for each in terms)


def _mapping(value: Any) -> Raw:
    return value if isinstance(value, dict) else {}


def _mappings(value: Any) -> Iterable[Raw]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def read_pod(pod: Raw, path: str) -> None:
    """Check the types of what is going to be read, and take its nulls out. Raises Unreadable."""
    spec = pod["spec"]
    metadata = pod.get("metadata")
    if isinstance(metadata, dict):
        metadata = {name: value for name, value in metadata.items() if name == "annotations"}
    parts = {name: spec[name] for name in ("tolerations", "affinity") if spec.get(name) is not None}
    try:
        convert_view({"metadata": metadata, "spec": parts}, PodTemplateSpec)
    except ConversionError as error:
        problems = [TypeProblem(child_path(path, problem.path), problem.reason) for problem in error.problems]
        raise Unreadable(problems) from None
    spec.update({name: without_nulls(value) for name, value in parts.items()})


def without_nulls(value: Any, name: str = "") -> Any:
    """Return a value as Go reads it: null fields are absent, null elements empty."""
    if isinstance(value, dict):
        return {key: without_nulls(each, key) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        empty: Any = "" if name == "values" else {}
        return [empty if each is None else without_nulls(each) for each in value]
    return value


def tolerations_of(pod: Raw) -> list[Raw]:
    tolerations: list[Raw] = pod["spec"].get("tolerations") or []
    return tolerations


def set_tolerations(pod: Raw, tolerations: list[Raw]) -> None:
    if tolerations:
        pod["spec"]["tolerations"] = tolerations
    else:
        pod["spec"].pop("tolerations", None)


def annotations_of(pod: Raw) -> Raw:
    annotations: Raw = (pod.get("metadata") or {}).get("annotations") or {}
    return annotations


def annotate(pod: Raw, name: str, value: Any) -> None:
    if not pod.get("metadata"):
        pod["metadata"] = {}
    if not pod["metadata"].get("annotations"):
        pod["metadata"]["annotations"] = {}
    pod["metadata"]["annotations"][name] = written(value)


def drop_annotations(pod: Raw) -> None:
    """Remove our annotations, and what is empty without them."""
    annotations = annotations_of(pod)
    if annotations.keys().isdisjoint(KEPT):
        return
    for name in KEPT:
        annotations.pop(name, None)
    if not annotations:
        del pod["metadata"]["annotations"]
    if not pod["metadata"]:
        del pod["metadata"]


def node_affinity_of(pod: Raw) -> Raw:
    affinity: Raw = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    return affinity


def set_node_affinity(pod: Raw, affinity: Raw) -> None:
    spec = pod["spec"]
    others = {name: value for name, value in (spec.get("affinity") or {}).items() if name != "nodeAffinity"}
    if affinity:
        others["nodeAffinity"] = affinity
    if others:
        spec["affinity"] = others
    else:
        spec.pop("affinity", None)


def compares_node_versions(affinity: Raw) -> tuple[bool, bool]:
    """Whether required and preferred terms compare versions."""
    required = any(map(compares_versions, required_terms(affinity) or ()))
    return required, any(compares_versions(each.get("preference") or {}) for each in preferences(affinity))
