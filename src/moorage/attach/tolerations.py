"""Lower a list of tolerations to `Exists`, and find the original again.

The plain ones come first, in their order; then one `Exists` for each key and effect that a comparing toleration names;
then the marker. Node affinity (`alternatives`) does the comparing.
Operators that the cluster knows are left alone: a comparison of a key is plain if all comparisons of this key use
such operators, and none of them has been lowered before.
Kubernetes: KEP-5471, KEP-5721, KEP-5500. Differs: the first toleration that matches a taint is the one whose seconds
count, and the plain ones now come first.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

from moorage.attach.formats import MARKER_KEY, Raw, marker
from moorage.match.operators import TOLERATION, comparison_of, gate_of, less_first, names_in
from moorage.model.gates import TAINT_TOLERATION_COMPARISON_OPERATORS
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE

PLAIN_OPERATORS: Final = ("", "Equal", "Exists")
#: The operators that compare. An expression is never native: no cluster has the operator CEL.
COMPARING: Final = tuple(name for name in names_in(TOLERATION) if comparison_of(name, TOLERATION) is not None)
#: Those that a policy lowers without a webhook: the operators of KEP-5471.
OF_POLICIES: Final = tuple(
    less_first(name for name in COMPARING if gate_of(name, TOLERATION) is TAINT_TOLERATION_COMPARISON_OPERATORS)
)
_HARD = (NO_SCHEDULE, NO_EXECUTE)


class Pair(NamedTuple):
    """A key and an effect of taints that some toleration compares. No node has two taints of one pair."""

    key: str
    effect: str


class LoweredTolerations(NamedTuple):
    """A list of tolerations as it is lowered: the plain ones, and what is added, of which the last is the marker."""

    plain: list[Raw]
    added: list[Raw]

    @property
    def all(self) -> list[Raw]:
        return [*self.plain, *self.added]


def is_comparing(toleration: Raw) -> bool:
    """Whether Kubernetes does not know the operator, or only behind a gate."""
    return (toleration.get("operator") or "") not in PLAIN_OPERATORS


def is_marker(toleration: Raw) -> bool:
    return toleration.get("key") == MARKER_KEY


def without_empty(toleration: Raw) -> Raw:
    """Return a toleration as the API server stores it: fields that are empty are left out."""
    return {name: value for name, value in toleration.items() if value not in ("", None)}


def covers(toleration: Raw, pair: Pair) -> bool:
    """Whether key and effect of a toleration are the pair's, so that only the value decides."""
    return (toleration.get("key") or pair.key) == pair.key and (toleration.get("effect") or pair.effect) == pair.effect


def native_keys(tolerations: Iterable[Raw], native: Collection[str], before: Iterable[Raw] = ()) -> frozenset[str]:
    """Return the keys whose comparisons are left to the cluster. Those that were lowered `before` stay lowered."""
    if not native:
        return frozenset()
    comparing = [toleration for toleration in tolerations if is_comparing(toleration)]
    known = {each.get("key") or "" for each in comparing if each["operator"] in native}
    unknown = {each.get("key") or "" for each in comparing if each["operator"] not in native}
    return frozenset(known - unknown - {each.get("key") or "" for each in before if is_comparing(each)})


def is_left(toleration: Raw, native: Collection[str]) -> bool:
    """Whether a toleration compares and is left to the cluster; `native` are the keys."""
    return bool(native) and is_comparing(toleration) and (toleration.get("key") or "") in native


def compared_pairs(tolerations: Iterable[Raw]) -> list[Pair]:
    """Return the pairs, in the order in which they are named. Without an effect both of those that forbid are meant."""
    pairs: dict[Pair, None] = {}
    for toleration in tolerations:
        if is_comparing(toleration):
            effects = (toleration["effect"],) if toleration.get("effect") else _HARD
            pairs.update(dict.fromkeys(Pair(toleration["key"], effect) for effect in effects))
    return list(pairs)


def lowered_tolerations(tolerations: Sequence[Raw], native: Collection[str] = ()) -> LoweredTolerations:
    """Lower all comparisons but those of the keys that are left to the cluster, which are plain."""
    plain = [each for each in tolerations if not is_comparing(each) or is_left(each, native)]
    seconds: dict[Pair, list[int | None]] = {}
    for toleration in tolerations:
        if is_comparing(toleration) and not is_left(toleration, native):
            pair = Pair(toleration["key"], toleration.get("effect") or "")
            seconds.setdefault(pair, []).append(toleration.get("tolerationSeconds"))
    there = [without_empty(toleration) for toleration in plain]
    exists = [_exists(pair, limits) for pair, limits in seconds.items()]
    return LoweredTolerations(plain, [*(each for each in exists if each not in there), marker()])


def _exists(pair: Pair, limits: Sequence[int | None]) -> Raw:
    """Tolerate any value, for as long as the most patient of the tolerations that compare."""
    toleration: Raw = {"key": pair.key, "operator": "Exists"}
    if pair.effect:
        toleration = {"effect": pair.effect, **toleration}
    known = [limit for limit in limits if limit is not None]
    if len(known) == len(limits):
        toleration["tolerationSeconds"] = max(known)
    return toleration


class RaisedTolerations(NamedTuple):
    """The original of a lowered list. `is_settled`: lowering it again changes nothing that matters.

    `added` are those of others, which come last.
    """

    all: list[Raw]
    added: list[Raw]
    is_settled: bool


def raised_tolerations(current: Sequence[Raw], kept: Sequence[Raw]) -> RaisedTolerations:
    """Return the tolerations that were lowered to `current`, by the list that its annotation has kept.

    What others have added since comes after them; what they have removed is left out.
    """
    rest = [without_empty(toleration) for toleration in current]
    missing = [toleration for toleration in lowered_tolerations(kept).added if not _take(rest, toleration)]
    lost = [Pair(toleration["key"], toleration.get("effect", "")) for toleration in missing]
    raised: list[Raw] = []
    for toleration in kept:
        if is_comparing(toleration):
            if Pair(toleration["key"], toleration.get("effect", "")) not in lost:
                raised.append(toleration)
        elif _take(rest, without_empty(toleration)):
            raised.append(toleration)
    pairs = compared_pairs(kept)
    concerned = any(covers(toleration, pair) for toleration in rest for pair in pairs)
    return RaisedTolerations([*raised, *rest], rest, len(raised) == len(kept) and not missing and not concerned)


def _take(there: list[Any], wanted: Any) -> bool:
    if wanted not in there:
        return False
    there.remove(wanted)
    return True
