"""Say which nodes the comparisons of a waiting lowered pod refuse, in the words of its manifest: `needs spot > 950`.

The scheduler has only seen the affinity that they were lowered to. Each node is in one group: left out by the pod's own
node selector or affinity, refused by a comparison, or accepted by all of them.
Kubernetes: TaintToleration's part of FailedScheduling, which names no value.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from moorage.attach.formats import CEL, Raw
from moorage.attach.lowering import raise_pod
from moorage.attach.matching import compile_original
from moorage.attach.pods import KEPT
from moorage.attach.tolerations import Pair, compared_pairs, covers
from moorage.attached.controller.lowered_pods import identity_of, raw_affinity, raw_toleration, read_identity
from moorage.client.protocol import Object
from moorage.control.framework.steps import Steps, in_parts
from moorage.match.comparison import Comparison, cut_error, shown
from moorage.match.node_selector import RequiredNodeAffinity, compile_required_node_affinity
from moorage.match.operators import EQUAL, TOLERATION, comparison_of
from moorage.match.tolerations import ProgramCache, TolerationSet
from moorage.model.gates import all_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node, Taint
from moorage.model.types.pod import Affinity, Pod
from moorage.model.well_known.taints import PREFER_NO_SCHEDULE
from moorage.plan.explain.sentence.words import listed

#: Values and keys that are named; the others are counted.
_MOST_NAMED = 3
_LONGEST_EXPRESSION = 160
Groups = Mapping[tuple[Taint, ...], Sequence[Object]]


class Standing(NamedTuple):
    """What all nodes say to the comparisons of a pod. `is_refused`: some node is refused, and none can have the pod."""

    text: str
    is_refused: bool


class Demands:
    """What a lowered pod asks of nodes: its original tolerations and affinity, and what they were lowered to."""

    def __init__(self, pod: Pod, programs: ProgramCache) -> None:
        """Raises Refused and Unreadable."""
        lowered = read_identity(identity_of(pod))
        assert lowered is not None
        assert lowered.original is not None
        self.tolerations: Sequence[Raw] = lowered.original.counting
        self._accepted: TolerationSet = compile_original(self.tolerations, programs)
        hard = (pair for pair in compared_pairs(self.tolerations) if pair.effect != PREFER_NO_SCHEDULE)
        self._pairs = dict.fromkeys(hard)
        self._lowered = compile_required_node_affinity(pod.spec.nodeSelector, pod.spec.affinity, all_gates())
        self.own = _original_affinity(pod)

    def steps(self, groups: Groups) -> Steps[Standing]:
        """Ask all nodes, in groups of equal taints. Raises Undecided."""
        refused: dict[str, Counter[Taint]] = {}
        left_out = met = unlabelled = 0
        for taints, nodes in groups.items():
            taint = self._refusing(taints)
            for part in in_parts(nodes):
                yield
                suiting = [node for node in part if _suits(self.own, node)] if self.own is not None else part
                left_out += len(part) - len(suiting)
                if taint is not None and suiting:
                    refused.setdefault(taint.key, Counter())[taint] += len(suiting)
                elif taint is None:
                    labelled = sum(_suits(self._lowered, node) for node in suiting)
                    met += labelled
                    unlabelled += len(suiting) - labelled
        return self._standing(refused, left_out, met, unlabelled)

    def _refusing(self, taints: Iterable[Taint]) -> Taint | None:
        """Return the first taint with a value that a comparison refuses."""
        for taint in taints:
            if Pair(taint.key, taint.effect) in self._pairs and not self._accepted.tolerates(taint):
                return taint
        return None

    # -- in words ------------------------------------------------------------------------------------------------------

    def _standing(self, refused: Mapping[str, Counter[Taint]], left_out: int, met: int, unlabelled: int) -> Standing:
        order = {pair.key: None for pair in self._pairs}
        keys = [key for key in order if key in refused]
        parts = [f"needs {' and '.join(self._needed(key) for key in keys)}"] if keys else []
        parts += [self._answers(key, refused[key], named=len(keys) > 1) for key in keys]
        if left_out:
            parts.append(f"its node selector or affinity leaves out {_nodes(left_out)}")
        this = "this" if keys else "what it compares"
        if met:
            parts.append(f"{_nodes(met)} {_verb(met, 'meets', 'meet')} {this}, and something else keeps the pod away")
        if unlabelled:
            has = _verb(unlabelled, "meets", "meet")
            parts.append(
                f"{_nodes(unlabelled)} {has} {this}, but lack{_verb(unlabelled, 's', '')} the labels for it yet"
            )
        return Standing("; ".join(parts), bool(keys or unlabelled))

    def _needed(self, key: str) -> str:
        """Write `spot > 950 or = 900`: which values one of the tolerations accepts."""
        alternatives = [_alternative(each) for each in self._concerned(key)]
        return f"{shown(key)} {' or '.join(dict.fromkeys(alternatives))}"

    def _concerned(self, key: str) -> list[Raw]:
        pairs = [pair for pair in self._pairs if pair.key == key]
        return [each for each in self.tolerations if any(covers(each, pair) for pair in pairs)]

    def _answers(self, key: str, taints: Counter[Taint], *, named: bool) -> str:
        """Write `5 nodes have less (100 to 940)`, and which values cannot be compared."""
        concerned = self._concerned(key)
        about = f"{shown(key)}: " if named else ""
        values = Counter[str]()
        unreadable: dict[str, tuple[int, str]] = {}
        for taint, number in taints.items():
            why = _unreadable(self._accepted, taint)
            if why is None:
                values[taint.value] += number
            else:
                unreadable[taint.value] = (unreadable.get(taint.value, (0, ""))[0] + number, why)
        comparison = _only_comparison(concerned)
        parts = []
        if values:
            limit = str(concerned[0].get("value", ""))
            told = _range(comparison, limit, values) if comparison is not None else f"other values ({_some(values)})"
            parts.append(f"{_has(values.total())} {told}")
        if unreadable:
            number, (value, (_, why)) = sum(each for each, _ in unreadable.values()), next(iter(unreadable.items()))
            such = shown(value) if len(unreadable) == 1 else f"values such as {shown(value)}"
            parts.append(f"{_has(number)} {such}, which {why}")
        return about + ", ".join(parts)


def _original_affinity(pod: Pod) -> RequiredNodeAffinity | None:
    """Return what the pod's own node selector and affinity require; None if that is nothing. Raises Refused."""
    affinity = pod.spec.affinity
    if not pod.spec.nodeSelector and (affinity is None or affinity.nodeAffinity is None):
        return None
    spec: Raw = {"tolerations": [raw_toleration(each) for each in pod.spec.tolerations]}
    if affinity is not None and affinity.nodeAffinity is not None:
        spec["affinity"] = {"nodeAffinity": raw_affinity(affinity.nodeAffinity)}
    annotations = {name: text for name, text in pod.metadata.annotations.items() if name in KEPT}
    document: Raw = {"metadata": {"annotations": annotations}, "spec": spec}
    raise_pod(document)
    own = convert_view(spec.get("affinity") or {}, Affinity)
    return compile_required_node_affinity(pod.spec.nodeSelector, own, all_gates())


def _suits(required: RequiredNodeAffinity, found: Object) -> bool:
    node: Node = found.view
    return required.match(node.metadata.labels, node.metadata.name)


def _alternative(toleration: Raw) -> str:
    operator, value = toleration.get("operator") or EQUAL, toleration.get("value") or ""
    if operator == CEL:
        text = " ".join(value.split())
        short = text if len(text) <= _LONGEST_EXPRESSION else f"{text[: _LONGEST_EXPRESSION - 3]}..."
        return f"of which {short} is true"
    comparison = comparison_of(operator, TOLERATION)
    return f"{comparison.symbol if comparison is not None else '='} {shown(value)}"


def _only_comparison(tolerations: Sequence[Raw]) -> Comparison | None:
    """Return how values are compared, if only one toleration accepts any."""
    if len(tolerations) != 1:
        return None
    return comparison_of(tolerations[0].get("operator") or EQUAL, TOLERATION)


def _unreadable(tolerations: TolerationSet, taint: Taint) -> str | None:
    """Return why a value cannot be compared, by any of those that would: the predicate of a sentence."""
    found = tolerations.unreadable(taint)
    if found is not None:
        return found.why if found.operator != "expression" else f"makes the expression fail: {cut_error(found.why)}"
    if (gave_up := tolerations.gave_up(taint)) is not None:
        return f"was not asked about: {cut_error(gave_up)}"
    return None


def _range(comparison: Comparison, limit: str, values: Counter[str]) -> str:
    """Write `less (100 to 940)`."""
    read = comparison.kind.value_of
    ordered = sorted(values, key=read)
    lowest, highest = ordered[0], ordered[-1]
    between = shown(lowest) if read(lowest) == read(highest) else f"{shown(lowest)} to {shown(highest)}"
    if comparison.symbol == ">":
        return f"{'less' if read(highest) < read(limit) else 'no more'} ({between})"
    if comparison.symbol == "<":
        return f"{'more' if read(lowest) > read(limit) else 'no less'} ({between})"
    return f"others ({_some(values)})"


def _some(values: Counter[str]) -> str:
    named = [shown(value) for value, _ in values.most_common(_MOST_NAMED)]
    more = len(values) - len(named)
    return listed([*named, f"{more:,} more"] if more else named)


def _nodes(number: int) -> str:
    return f"{number:,} node{'' if number == 1 else 's'}"


def _has(number: int) -> str:
    return f"{_nodes(number)} {_verb(number, 'has', 'have')}"


def _verb(number: int, singular: str, plural: str) -> str:
    return singular if number == 1 else plural
