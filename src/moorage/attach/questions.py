"""Ask about nodes what no requirement can say: does a node have only taints that these tolerations accept?

A question is named by its match label, a hash of it; the label of a node is its answer. It is about the
pairs that are compared, and no others.
Kubernetes: KEP-5500 for expressions. An expression that fails accepts nothing. Differs: an expression is asked about
the taints of its toleration's key and effect only.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from moorage.attach.formats import MATCH_DOMAIN, Raw, match_label
from moorage.attach.matching import compile_original
from moorage.attach.tolerations import Pair, compared_pairs, covers, without_empty
from moorage.match.tolerations import ProgramCache
from moorage.model.types.node import Taint
from moorage.model.well_known.taints import PREFER_NO_SCHEDULE


class MatchQuestion(NamedTuple):
    """Tolerations, and the pairs of which every taint of a node has to be accepted by one of them."""

    label: str
    tolerations: tuple[Raw, ...]
    pairs: frozenset[Pair]

    def concerned(self, taints: Iterable[Taint]) -> tuple[Taint, ...]:
        """Return the taints that the question is about."""
        return tuple(taint for taint in taints if Pair(taint.key, taint.effect) in self.pairs)

    def holds(self, taints: Iterable[Taint], programs: ProgramCache) -> bool:
        """Whether every taint is accepted that the question is about. Raises Undecided."""
        tolerations = compile_original(self.tolerations, programs)
        return all(map(tolerations.tolerates, self.concerned(taints)))


def hard_question(tolerations: Sequence[Raw]) -> list[Raw]:
    """Return what the match label of a pod's required affinity is a hash of."""
    keys = {pair.key for pair in compared_pairs(tolerations)}
    return [without_empty(each) for each in tolerations if not each.get("key") or each["key"] in keys]


def soft_question(tolerations: Sequence[Raw], key: str) -> dict[str, Any]:
    """Return what the match label of a preference for a PreferNoSchedule taint is a hash of."""
    pair = Pair(key, PREFER_NO_SCHEDULE)
    concerned = [without_empty(each) for each in tolerations if covers(each, pair)]
    return {"effect": PREFER_NO_SCHEDULE, "key": key, "tolerations": concerned}


def match_questions(tolerations: Sequence[Raw]) -> list[MatchQuestion]:
    """Return every question that lowering these tolerations may ask; affinity names the labels of those it does."""
    pairs = compared_pairs(tolerations)
    hard = frozenset(pair for pair in pairs if pair.effect != PREFER_NO_SCHEDULE)
    asked = hard_question(tolerations)
    questions = [MatchQuestion(match_label(asked), tuple(asked), hard)] if hard else []
    for pair in pairs:
        if pair.effect == PREFER_NO_SCHEDULE:
            soft = soft_question(tolerations, pair.key)
            questions.append(MatchQuestion(match_label(soft), tuple(soft["tolerations"]), frozenset((pair,))))
    return questions


def asked_labels(spec: Raw) -> set[str]:
    """Return the match labels that the node affinity of a pod names."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or []
    terms = [*(required.get("nodeSelectorTerms") or []), *(each.get("preference") or {} for each in preferred)]
    keys = {each.get("key", "") for term in terms for each in term.get("matchExpressions") or []}
    return {key for key in keys if key.startswith(f"{MATCH_DOMAIN}/")}
