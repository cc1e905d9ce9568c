"""Lower version comparisons in node affinity, add what tolerations require, and take both away again.

Kubernetes: nodeAffinity of pods. Empty terms match no node, and so nothing is added to them.
Differs: a term whose version comparisons are lowered keeps its order, so that raising finds it by its content.
"""

from collections.abc import Sequence
from typing import Any

from moorage.attach.alternatives import version_requirement
from moorage.attach.formats import Raw, is_of_taints, version_label
from moorage.attach.refusals import is_version_comparison
from moorage.match.label_keys import PREFERRED, REQUIRED

_TERMS = "nodeSelectorTerms"


def required_terms(affinity: Raw) -> list[Raw] | None:
    """Return the required terms; None if nothing is required."""
    required = affinity.get(REQUIRED)
    return None if required is None else required.get(_TERMS) or []


def preferences(affinity: Raw) -> list[Raw]:
    return affinity.get(PREFERRED) or []


def with_terms(affinity: Raw, required: Sequence[Raw] | None, preferred: Sequence[Raw]) -> Raw:
    """Return node affinity with these terms; what is empty is left out."""
    changed = {name: value for name, value in affinity.items() if name not in (REQUIRED, PREFERRED)}
    if required is not None:
        changed[REQUIRED] = {**(affinity.get(REQUIRED) or {}), _TERMS: list(required)}
    if preferred:
        changed[PREFERRED] = list(preferred)
    return changed


def compares_versions(term: Raw) -> bool:
    return any(map(is_version_comparison, term.get("matchExpressions") or []))


def lowered_term(term: Raw) -> Raw:
    """Return a term without version comparisons. They have been checked."""
    if not compares_versions(term):
        return term
    return {**term, "matchExpressions": [_lowered(each) for each in term["matchExpressions"]]}


def _lowered(expression: Raw) -> Raw:
    if not is_version_comparison(expression):
        return expression
    label = version_label(expression["key"])
    assert label is not None
    requirement = version_requirement(expression["operator"], expression["values"][0], label)
    assert requirement is not None
    return requirement


def lowered_preference(preferred: Raw) -> Raw:
    return {**preferred, "preference": lowered_term(preferred.get("preference") or {})}


def is_inert(term: Raw) -> bool:
    """Whether a term has no requirement, and so matches no node."""
    return not term.get("matchExpressions") and not term.get("matchFields")


def count_of_terms(required: Sequence[Raw] | None) -> int:
    return sum(not is_inert(term) for term in required or ())


def multiplied(required: Sequence[Raw] | None, added: Sequence[Sequence[Raw]]) -> list[Raw] | None:
    """Return the terms of the user, each with each of the lists of requirements that are added."""
    if not added:
        return None if required is None else list(required)
    if required is None:
        return [{"matchExpressions": list(each)} for each in added]
    terms: list[Raw] = []
    for term in required:
        own = term.get("matchExpressions") or []
        terms += [term] if is_inert(term) else [{**term, "matchExpressions": [*own, *each]} for each in added]
    return terms


def without_added(required: Sequence[Raw] | None) -> list[Raw] | None:
    """Return the terms of the user, without what lowering tolerations has added; None if all of it was added."""
    if required is None:
        return None
    kept: list[Raw] = []
    last: Any = None
    for term in required:
        own = _own_part(term)
        if own == term:
            kept.append(term)
            last = None
        elif not is_inert(own) and own != last:
            kept.append(own)
            last = own
    return kept if kept or not required else None


def _own_part(term: Raw) -> Raw:
    expressions = term.get("matchExpressions") or []
    own = [each for each in expressions if not is_of_taints(each.get("key") or "")]
    if len(own) == len(expressions):
        return term
    if own:
        return {**term, "matchExpressions": own}
    return {name: value for name, value in term.items() if name != "matchExpressions"}


def preferences_without_added(preferred: Sequence[Raw]) -> list[Raw]:
    return [each for each in preferred if _own_part(each.get("preference") or {}) == (each.get("preference") or {})]
