"""node_selector.json and node_selector_semver.json: terms, required node affinity, preferred weights."""

from typing import Any

import msgspec

from moorage.match.node_selector import (
    compile_node_selector,
    compile_preferred_terms,
    compile_required_node_affinity,
)
from moorage.match.requirement import aggregate
from moorage.model.gates import default_gates, gates_from
from moorage.model.types.node import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.model.types.pod import Affinity, PreferredSchedulingTerm

_GATES = default_gates()
_SEMVER_GATES = gates_from({"TaintTolerationNodeAffinitySemverComparisonOperators": True})


def check_node_selector(case: dict[str, Any]) -> str | None:
    given, want = case["in"], case["out"]
    metadata = given["node"].get("metadata", {})
    labels, name = metadata.get("labels") or {}, metadata.get("name", "")
    got: dict[str, Any]
    if given["op"] == "preferred":
        preferred = msgspec.convert(_without_nulls(given["preferred"]) or [], tuple[PreferredSchedulingTerm, ...])
        terms = compile_preferred_terms(preferred, _GATES)
        got = {"newError": aggregate(terms.errors) if terms.errors else None}
        if not terms.errors:
            got["score"] = terms.score(labels, name)
        return None if got == want else f"got {got}, want {want}"
    if given["op"] == "requiredNodeAffinity":
        spec = _without_nulls(given["podSpec"])
        affinity = msgspec.convert(spec.get("affinity"), Affinity | None)
        required = compile_required_node_affinity(spec.get("nodeSelector", {}), affinity, _GATES)
        got = {"match": required.match(labels, name), "error": required.match_error(labels, name)}
        if got["match"] != (required.explain(labels, name) is None):
            return f"match is {got['match']}, but explain says {required.explain(labels, name)!r}"
        return None if got == want else f"got {got}, want {want}"
    selector = compile_node_selector(msgspec.convert(_without_nulls(given["nodeSelector"]), NodeSelector), _GATES)
    matches = selector.match(labels, name)
    got = {
        "newError": aggregate(selector.errors) if selector.errors else None,
        "lazyMatch": matches,
        "lazyError": selector.match_error(labels, name),
    }
    if not selector.errors:
        got["match"] = matches
    if matches != (selector.explain(labels, name) is None):
        return f"match is {matches}, but explain says {selector.explain(labels, name)!r}"
    return None if got == want else f"got {got}, want {want}"


def check_node_selector_semver(case: dict[str, Any]) -> str | None:
    given, want = case["in"], case["out"]["match"]
    requirement = msgspec.convert(given["requirement"], NodeSelectorRequirement)
    selector = compile_node_selector(NodeSelector((NodeSelectorTerm((requirement,)),)), _SEMVER_GATES)
    got, why = selector.match(given["labels"], "n1"), selector.explain(given["labels"], "n1")
    if got != (why is None):
        return f"match is {got}, but explain says {why!r}"
    return None if got == want else f"{given}: got {got} ({why}), want {want}"


def _without_nulls(value: Any) -> Any:
    """Go reads `null` as an absent field."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
