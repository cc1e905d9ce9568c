"""Merge a pod's own label values into its selectors when it is created (matchLabelKeys, mismatchLabelKeys).

Kubernetes: pkg/registry/core/pod/strategy.go (mutatePodAffinity, mutateTopologySpreadConstraints). As there, a term
without a labelSelector is left alone, keys the pod does not have are skipped, and the two lists stay as they are.
Merging twice would append twice, so only creation calls this.
"""

from typing import Any

from moorage.model.gates import (
    MATCH_LABEL_KEYS_IN_POD_AFFINITY,
    MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD,
    MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD_SELECTOR_MERGE,
    GateSet,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

_LabelKeys = tuple[tuple[str, str], ...]
_AFFINITY_KEYS: _LabelKeys = (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
_SPREAD_KEYS: _LabelKeys = (("matchLabelKeys", "In"),)


def merge_label_keys(pod: dict[str, Any], gates: GateSet) -> None:
    """Merge wherever the gates allow it. Parts that are not of the expected shape are left to validation.

    Only `pod["spec"]` itself is written to: what lies deeper may be one object in several places, if the manifest
    used YAML anchors, and is replaced instead.
    """
    spec = pod.get("spec")
    if not isinstance(spec, dict):
        return
    affinity, constraints = spec.get("affinity"), spec.get("topologySpreadConstraints")
    if not affinity and not constraints:
        return
    labels = _mapping(_mapping(pod.get("metadata")).get("labels"))
    if isinstance(affinity, dict) and gates.enabled(MATCH_LABEL_KEYS_IN_POD_AFFINITY):
        spec["affinity"] = affinity | {
            kind: _merged_rules(affinity[kind], labels)
            for kind in ("podAffinity", "podAntiAffinity")
            if isinstance(affinity.get(kind), dict)
        }
    if (
        isinstance(constraints, list)
        and gates.enabled(MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD)
        and gates.enabled(MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD_SELECTOR_MERGE)
    ):
        spec["topologySpreadConstraints"] = [_merged(constraint, _SPREAD_KEYS, labels) for constraint in constraints]


def _merged_rules(rules: dict[str, Any], labels: dict[str, Any]) -> dict[str, Any]:
    merged = dict(rules)
    if isinstance(required := rules.get(REQUIRED), list):
        merged[REQUIRED] = [_merged(term, _AFFINITY_KEYS, labels) for term in required]
    if isinstance(preferred := rules.get(PREFERRED), list):
        merged[PREFERRED] = [
            weighted | {"podAffinityTerm": _merged(weighted["podAffinityTerm"], _AFFINITY_KEYS, labels)}
            if isinstance(weighted, dict) and "podAffinityTerm" in weighted
            else weighted
            for weighted in preferred
        ]
    return merged


def _merged(term: Any, label_keys: _LabelKeys, labels: dict[str, Any]) -> Any:
    """Return the term with what its label keys add to its selector; the very same term if they add nothing."""
    if not isinstance(term, dict) or not isinstance(selector := term.get("labelSelector"), dict):
        return term
    expressions = selector.get("matchExpressions")
    if expressions is not None and not isinstance(expressions, list):
        return term
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in label_keys
        for key in _list(term.get(field))
        if isinstance(key, str) and isinstance(labels.get(key), str)
    ]
    if not added:
        return term
    return term | {"labelSelector": selector | {"matchExpressions": [*(expressions or ()), *added]}}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
