"""Tell what people mean by words that Kubernetes does not know: operators, effects, kinds, fields, topology keys.

The words that people write for an operator are in its row (`match/operators`); words for which there is no operator,
such as `>=` and `!=`, are here with what to write instead, and so are those for everything else. Other words are
compared letter by letter. Kubernetes: says which words it knows, and not which one was meant.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from moorage.lint.facts.possible_taints import EFFECTS
from moorage.match.comparison import CANONICAL_INTEGER, VERSION, ValueKind
from moorage.match.operators import (
    LABEL_SELECTOR,
    NODE_SELECTOR,
    OPERATORS,
    TOLERATION,
    OperatorPlace,
    comparisons_in,
    names_in,
    use_of,
)
from moorage.model.kinds import KINDS
from moorage.model.well_known.labels import HOSTNAME, REGION, ZONE
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_WORDS_OF_OPERATORS = {word: row.name for row in OPERATORS for word in (*row.spellings, row.name.lower())}
#: Words for relations without an operator of their own.
_WORDS_OF_RELATIONS = {
    **dict.fromkeys(
        (">=", "=>", "≥", "gte", "ge", "geq", "gteq", "atleast", "min", "minimum", "notless", "notlessthan"), ">="
    ),
    **dict.fromkeys(("greaterthanorequal", "greaterthanorequalto", "greaterorequal", "greaterequal"), ">="),
    **dict.fromkeys(
        ("<=", "=<", "≤", "lte", "le", "leq", "lteq", "atmost", "max", "maximum", "notgreater", "notgreaterthan"), "<="
    ),
    **dict.fromkeys(("lessthanorequal", "lessthanorequalto", "lessorequal", "lessequal"), "<="),
    **dict.fromkeys(("!=", "<>", "≠", "ne", "neq", "noteq", "notequal", "notequals", "isnot", "not"), "!="),
}
_WORDS_OF_EFFECTS = {
    **dict.fromkeys(("evict", "evicts", "eviction", "noexec", "execute", "norun"), NO_EXECUTE),
    **dict.fromkeys(("prefer", "preferred", "prefernot", "soft", "avoid"), PREFER_NO_SCHEDULE),
    **dict.fromkeys(("schedule", "nosched", "hard", "repel", "noscheduling"), NO_SCHEDULE),
}
_WORDS_OF_KINDS = {
    "netpol": "NetworkPolicy",
    "cronjobs": "CronJob",
    "horizontalpodautoscalar": "HorizontalPodAutoscaler",
}
#: Fields that people call otherwise: the word, the field that it stands in (empty: any), the name.
_WORDS_OF_FIELDS = (
    ("antiaffinity", "affinity", "podAntiAffinity"),
    ("podantiaffinities", "affinity", "podAntiAffinity"),
    ("required", "Affinity", "requiredDuringSchedulingIgnoredDuringExecution"),
    ("preferred", "Affinity", "preferredDuringSchedulingIgnoredDuringExecution"),
    ("topologyspread", "spec", "topologySpreadConstraints"),
    ("spreadconstraints", "spec", "topologySpreadConstraints"),
    ("priorityclass", "spec", "priorityClassName"),
    ("runtimeclass", "spec", "runtimeClassName"),
    ("serviceaccount", "spec", "serviceAccountName"),
    ("seconds", "", "tolerationSeconds"),
    ("gracePeriod".lower(), "spec", "terminationGracePeriodSeconds"),
)
_WORDS_OF_TOPOLOGY = {
    **dict.fromkeys(("zone", "zones", "az", "availabilityzone", "failuredomain", "rack"), ZONE),
    **dict.fromkeys(("region", "regions"), REGION),
    **dict.fromkeys(("hostname", "host", "node", "nodename", "nodes", "kubernetes.io/host"), HOSTNAME),
    **dict.fromkeys(("kubernetes.io/zone", "failuredomain.beta.kubernetes.io/zone", "topology.k8s.io/zone"), ZONE),
    **dict.fromkeys(("kubernetes.io/region", "failuredomain.beta.kubernetes.io/region"), REGION),
    **dict.fromkeys(("topology.kubernetes.io/hostname", "kubernetes.io/node", "topology.kubernetes.io/node"), HOSTNAME),
}


def did_you_mean(value: str, known: Iterable[str]) -> str:
    """Suggest the nearest known word, if one is near."""
    nearest = nearest_word(value, known)
    return f"did you mean {nearest}?" if nearest else ""


def nearest_word(value: str, known: Iterable[str]) -> str:
    """Return the known word with the most similar letters; empty if none is near."""
    from difflib import get_close_matches

    by_lower = {word.lower(): word for word in known}
    close = get_close_matches(value.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else ""


def _folded(word: str) -> str:
    return "".join(word.lower().split()).replace("_", "").replace("-", "")


# -- operators --------------------------------------------------------------------------------------------------------


def meant_operator(word: str, place: OperatorPlace, rule: Mapping[str, Any] | None = None) -> str:
    """Say which operator to write; `rule` is the toleration or the requirement that has the word."""
    folded = _folded(word)
    versions, relation = _relation(folded)
    if relation and place is not LABEL_SELECTOR:
        if relation == "!=":
            return _unequal(word, place, rule or {})
        return _or_equal(word, relation, VERSION if versions else CANONICAL_INTEGER, place, rule or {})
    if relation == "!=":
        return "did you mean NotIn?"
    if word in comparisons_in(TOLERATION, VERSION):
        return "the Semver operators exist in tolerations and in the matchExpressions of node affinity only"
    if place is TOLERATION and use_of(word, NODE_SELECTOR) is not None:
        return f"{word} is an operator of node affinity; a toleration compares with one value, by Equal or Exists"
    name = _WORDS_OF_OPERATORS.get(folded, "")
    if place is not TOLERATION and name == "Equal":
        return "write In with one value"
    if place is TOLERATION and name in ("In", "NotIn", "DoesNotExist"):
        return f"{name} is an operator of node affinity; a toleration compares with one value, by Equal or Exists"
    known = names_in(place)
    if name and name not in known:
        return f"{place.value} have no {name}, only {', '.join(known[:-1])} and {known[-1]}"
    return f"did you mean {name}?" if name else did_you_mean(word, known)


def _relation(folded: str) -> tuple[bool, str]:
    """Return whether versions are meant, and which relation without an operator of its own."""
    if (relation := _WORDS_OF_RELATIONS.get(folded)) is not None:
        return False, relation
    for prefix in ("semver", "version"):
        if folded.startswith(prefix) and (relation := _WORDS_OF_RELATIONS.get(folded.removeprefix(prefix))) is not None:
            return True, relation
    return False, ""


def _or_equal(word: str, relation: str, kind: ValueKind, place: OperatorPlace, rule: Mapping[str, Any]) -> str:
    """Say how to write `at least`: with the next threshold, or with two rules of which one is enough."""
    by_symbol = _by_symbol(kind)
    operator = by_symbol[relation[0]]
    equal = by_symbol.get("=", "Equal" if place is TOLERATION else "In")
    several = "tolerations" if place is TOLERATION else "nodeSelectorTerms"
    value = _value_of(rule)
    comparison = comparisons_in(TOLERATION, kind)[operator]
    shifted = comparison.threshold_for(value, value)
    if shifted is None:
        return (
            f"{word} does not exist, comparisons are strict: write two {several}, one with {equal}, one with {operator}"
        )
    two = f"two {several}, {equal} {value} and {operator} {value}"
    if kind is CANONICAL_INTEGER:
        return f"{word} does not exist, comparisons are strict: write {operator} {shifted}, or {two}"
    return f"{word} does not exist, comparisons are strict: write {two}"


def _by_symbol(kind: ValueKind) -> dict[str, str]:
    """Return the operators of tolerations that compare values of a kind, by `<`, `>` and `=`."""
    return {comparison.symbol: name for name, comparison in comparisons_in(TOLERATION, kind).items()}


def _unequal(word: str, place: OperatorPlace, rule: Mapping[str, Any]) -> str:
    if place is not TOLERATION:
        return "did you mean NotIn?"
    value = _value_of(rule)
    key = rule.get("key") if isinstance(rule.get("key"), str) else ""
    if CANONICAL_INTEGER.value_of(value) is not None:
        less, greater = map(_by_symbol(CANONICAL_INTEGER).__getitem__, "<>")
        return f"{word} does not exist: write two tolerations, {less} {value} and {greater} {value}"
    return (
        f"{word} does not exist; an expression can say it: "
        f"taint.key == '{key or '…'}' && taint.value != '{value or '…'}'"
    )


def _value_of(rule: Mapping[str, Any]) -> str:
    value, values = rule.get("value"), rule.get("values")
    if isinstance(values, list) and len(values) == 1:
        value = values[0]
    return value if isinstance(value, str) else ""


# -- everything else --------------------------------------------------------------------------------------------------


def meant_effect(word: str) -> str:
    name = _WORDS_OF_EFFECTS.get(_folded(word))
    return f"did you mean {name}?" if name else did_you_mean(word, EFFECTS)


def meant_kind(word: str, known: Iterable[str]) -> str:
    """Suggest a kind for its plural, its short name, or a word that is near."""
    name = _names_of_kinds().get(word.lower(), "")
    listed = list(known)
    return f"did you mean {name}?" if name in listed else did_you_mean(word, listed)


@cache
def _names_of_kinds() -> dict[str, str]:
    names = {word: kind.name for kind in KINDS.values() for word in (kind.plural, *kind.short_names)}
    return {**names, **_WORDS_OF_KINDS}


def meant_field(path: str) -> str:
    """Return the name of a field that people call otherwise; empty if the word is not known."""
    parent, _, name = path.rpartition(".")
    parent = parent.rpartition(".")[2].partition("[")[0]
    for word, inside, field in _WORDS_OF_FIELDS:
        if _folded(name) == word and parent.endswith(inside):
            return field
    return ""


def meant_topology_key(word: str, known: Iterable[str] = ()) -> str:
    """Return the well-known label that is meant, or one of the nodes that is near; empty if none is."""
    return _WORDS_OF_TOPOLOGY.get(_folded(word), "") or nearest_word(word, [*known, HOSTNAME, ZONE, REGION])
