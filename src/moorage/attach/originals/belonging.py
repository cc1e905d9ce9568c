"""Tell whether the node affinity of a lowered pod is what its tolerations become, in whatever order it is written.

Kubernetes: terms are alternatives, requirements all have to hold, so their order means nothing. Others may have added
requirements of their own.
"""

from collections.abc import Sequence

from moorage.attach.alternatives import preferred_terms, required_products
from moorage.attach.formats import Raw, written
from moorage.attach.node_affinity import (
    count_of_terms,
    multiplied,
    preferences,
    preferences_without_added,
    required_terms,
    without_added,
)


def affinity_belongs(affinity: Raw, tolerations: Sequence[Raw]) -> bool:
    """Whether node affinity has what these tolerations add to it, and nothing that others would have added.

    `affinity` is of the right types, and its version comparisons are lowered.
    """
    required, preferred = required_terms(affinity), preferences(affinity)
    own = without_added(required)
    wanted = multiplied(own, required_products(tolerations, count_of_terms(own)))
    if _terms(wanted) != _terms(required):
        return False
    added = [*preferences_without_added(preferred), *preferred_terms(tolerations)]
    return sorted(map(written, added)) == sorted(map(written, preferred))


def same_affinity(one: Raw, other: Raw) -> bool:
    """Whether two node affinities mean the same, in whatever order they are written."""
    return _terms(required_terms(one)) == _terms(required_terms(other)) and same_preferences(one, other)


def same_preferences(one: Raw, other: Raw) -> bool:
    return sorted(map(written, preferences(one))) == sorted(map(written, preferences(other)))


def has_added_terms(affinity: Raw) -> bool:
    """Whether something in node affinity comes from lowered tolerations."""
    required, preferred = required_terms(affinity), preferences(affinity)
    return without_added(required) != required or preferences_without_added(preferred) != preferred


def _terms(terms: Sequence[Raw] | None) -> set[str] | None:
    return None if terms is None else {_canonical(term) for term in terms}


def _canonical(term: Raw) -> str:
    return written({name: sorted(map(written, each)) for name, each in term.items() if each})
