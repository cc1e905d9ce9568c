"""Write the comparisons of tolerations as requirements on the labels that mirror a node's taints.

For each pair one of several alternatives has to hold: there is no such taint, or one of the tolerations accepts its
value. Terms of node affinity are the product over all pairs. What no requirement can say, and what would need too many
terms, is one match label instead.
Kubernetes: nodeSelectorTerms, of which one has to match, each with requirements that all have to.
"""

from collections.abc import Sequence
from itertools import product
from math import prod

from moorage.attach.formats import (
    MAX_TERMS,
    NUMBER,
    ORDERED_VERSION,
    RAW_VALUE,
    SOFT_WEIGHT,
    Raw,
    match_label,
    taint_label,
)
from moorage.attach.questions import hard_question, soft_question
from moorage.attach.tolerations import Pair, compared_pairs, covers
from moorage.attach.versions import threshold
from moorage.match.numeric import parse_canonical_int64
from moorage.model.well_known.taints import PREFER_NO_SCHEDULE

_OF_VERSIONS = {"SemverLt": "Lt", "SemverGt": "Gt", "SemverEq": "In"}


class Inexpressible(Exception):
    """A comparison that no requirement on labels can say."""


def required_products(tolerations: Sequence[Raw], user_terms: int) -> list[list[Raw]]:
    """Return the requirements to add, one list for each term that a term of the user becomes; none if all may be."""
    pairs = [pair for pair in compared_pairs(tolerations) if pair.effect != PREFER_NO_SCHEDULE]
    try:
        choices = [found for pair in pairs if (found := alternatives(tolerations, pair))]
    except Inexpressible:
        return [[_matches(match_label(hard_question(tolerations)))]]
    if not choices:
        return []
    if prod(map(len, choices)) * max(1, user_terms) > MAX_TERMS:
        return [[_matches(match_label(hard_question(tolerations)))]]
    return [list(chosen) for chosen in product(*choices)]


def preferred_terms(tolerations: Sequence[Raw]) -> list[Raw]:
    """Return the preferences to add, for nodes without a PreferNoSchedule taint or with a value that is accepted."""
    requirements: list[Raw] = []
    for pair in compared_pairs(tolerations):
        if pair.effect == PREFER_NO_SCHEDULE:
            try:
                requirements += alternatives(tolerations, pair)
            except Inexpressible:
                requirements.append(_matches(match_label(soft_question(tolerations, pair.key))))
    return [{"preference": {"matchExpressions": [each]}, "weight": SOFT_WEIGHT} for each in requirements]


def alternatives(tolerations: Sequence[Raw], pair: Pair) -> list[Raw]:
    """Return the requirements of which one has to hold; none if a plain toleration accepts every value."""
    concerned = [toleration for toleration in tolerations if covers(toleration, pair)]
    if any(toleration.get("operator") == "Exists" for toleration in concerned):
        return []
    found = [{"key": _label(RAW_VALUE, pair), "operator": "DoesNotExist"}]
    for toleration in concerned:
        requirement = _requirement(toleration.get("operator") or "", toleration.get("value") or "", pair)
        if requirement is not None and requirement not in found:
            found.append(requirement)
    return found


def _requirement(operator: str, value: str, pair: Pair) -> Raw | None:
    """Return what a value has to be; None if nothing can be. Raises Inexpressible."""
    if operator in ("", "Equal"):
        return {"key": _label(RAW_VALUE, pair), "operator": "In", "values": [value]}
    if operator in ("Lt", "Gt"):
        return _number_requirement(operator, value, _label(NUMBER, pair))
    requirement = None
    if operator in _OF_VERSIONS:
        requirement = version_requirement(operator, value, _label(ORDERED_VERSION, pair))
    if requirement is None:
        raise Inexpressible
    return requirement


def _number_requirement(operator: str, value: str, label: str) -> Raw | None:
    """Compare with a number. Values of taints are never negative, and neither may be the values of a requirement."""
    if parse_canonical_int64(value) >= 0:
        return {"key": label, "operator": operator, "values": [value]}
    return {"key": label, "operator": "Exists"} if operator == "Gt" else None


def version_requirement(operator: str, value: str, label: str) -> Raw | None:
    """Return what a comparison with a version becomes; None if no requirement can say it."""
    number = threshold(value)
    return None if number is None else {"key": label, "operator": _OF_VERSIONS[operator], "values": [str(number)]}


def _label(content: str, pair: Pair) -> str:
    label = taint_label(content, pair.effect, pair.key)
    if label is None:
        raise Inexpressible
    return label


def _matches(label: str) -> Raw:
    return {"key": label, "operator": "In", "values": ["true"]}
