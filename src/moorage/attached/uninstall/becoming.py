"""Say what a lowered object could become: the operator itself if the cluster knows it, or `Equal`, or `Exists`.

Values for `Equal` are those that nodes have now and that the comparison accepts; a value that comes later is not
tolerated. Kubernetes: tolerations without gates. Differs: it is a proposal, and nothing is written.
"""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from moorage.attach.formats import NATIVE, TRUE, Raw, written
from moorage.attach.matching import compile_original
from moorage.attach.tolerations import is_comparing
from moorage.attached.status.lowered_objects import LoweredObject, in_words, requirement_in_words
from moorage.attached.status.snapshot import Snapshot
from moorage.match.evaluation.accounts import Undecided
from moorage.match.node_selector import compile_required_node_affinity
from moorage.match.tolerations import ProgramCache
from moorage.model.gates import all_gates
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node, Taint
from moorage.model.types.pod import Affinity
from moorage.plan.report.node_lists import natural

_MOST_SHOWN: Final = 8


class Becoming(NamedTuple):
    """A toleration that compares, and what it could be without attach. `native`: it may stay as it is."""

    was: Raw
    is_native: bool
    equal: tuple[Raw, ...]

    @property
    def plain(self) -> Raw:
        """Return the toleration of every value."""
        return _as(self.was, "Exists")

    def __str__(self) -> str:
        was = in_words(self.was)
        if self.is_native:
            how = f'with the annotation {NATIVE}: "{TRUE}" in its metadata, because the cluster knows it'
            return f"{was}: {self.was['operator']} as it is, {how}"
        if not self.equal:
            return f"{was}: Exists tolerates every value; for Equal, no node has a value that it accepts now"
        values = [str(each.get("value", "")) or "(no value)" for each in self.equal[:_MOST_SHOWN]]
        more = f" and {len(self.equal) - _MOST_SHOWN} more" if len(self.equal) > _MOST_SHOWN else ""
        return f"{was}: Equal {', '.join(values)}{more}, as nodes have now; or Exists, which tolerates every value"

    def as_json(self) -> Raw:
        return {
            "toleration": self.was,
            "native": self.is_native,
            "equal": list(self.equal),
            "exists": self.plain,
        }


def _as(toleration: Raw, operator: str, value: str = "") -> Raw:
    """Return a toleration with another operator and value."""
    kept: Raw = {name: toleration[name] for name in ("key", "effect", "tolerationSeconds") if name in toleration}
    return {**kept, "operator": operator, **({"value": value} if value else {})}


class VersionBecoming(NamedTuple):
    """A comparison of versions of a node label, and the values that it accepts of those that nodes have now."""

    was: Raw
    values: tuple[str, ...]

    def __str__(self) -> str:
        if not self.values:
            return f"{requirement_in_words(self.was)}: no node has a version that it accepts now"
        more = f" and {len(self.values) - _MOST_SHOWN} more" if len(self.values) > _MOST_SHOWN else ""
        return f"{requirement_in_words(self.was)}: In {', '.join(self.values[:_MOST_SHOWN])}{more}, as nodes have now"

    def as_json(self) -> Raw:
        return {"requirement": self.was, "in": list(self.values)}


class NodeValues:
    """The taints that nodes have now, and the values of their labels."""

    def __init__(self, snapshot: Snapshot) -> None:
        taints: dict[tuple[str, str, str], None] = {}
        for found in snapshot.of(KINDS.NODE):
            node: Node = found.view
            taints.update(dict.fromkeys((each.key, each.value, each.effect) for each in node.spec.taints))
        in_order = sorted(taints, key=lambda taint: (taint[0], natural(taint[1]), taint[2]))
        self._taints = [Taint(key=key, value=value, effect=effect) for key, value, effect in in_order]
        self._programs = ProgramCache()
        self._accepted: dict[str, tuple[Raw, ...]] = {}
        self._nodes: list[Node] = [found.view for found in snapshot.of(KINDS.NODE)]

    def accepted(self, toleration: Raw) -> tuple[Raw, ...]:
        """Return a toleration with Equal for each value that one with a comparison accepts; asked once of each."""
        key = written(toleration)
        if key not in self._accepted:
            self._accepted[key] = self._asked(toleration)
        return self._accepted[key]

    def _asked(self, toleration: Raw) -> tuple[Raw, ...]:
        matcher = compile_original([toleration], self._programs)
        found: dict[str, Raw] = {}
        for taint in self._taints:
            if taint.key != toleration.get("key") or toleration.get("effect") not in (None, "", taint.effect):
                continue
            try:
                accepts = matcher.tolerates(taint)
            except Undecided:
                continue
            if accepts:
                found[taint.value] = _as(toleration, "Equal", taint.value)
        return tuple(found.values())

    def accepted_versions(self, expression: Raw) -> tuple[str, ...]:
        """Return the values of a label that a comparison of versions accepts."""
        term = {"matchExpressions": [expression]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        matcher = compile_required_node_affinity({}, convert_view({"nodeAffinity": required}, Affinity), all_gates())
        key = expression["key"]
        having = {node.metadata.labels[key] for node in self._nodes if key in node.metadata.labels}
        values = sorted(having, key=natural)
        return tuple(value for value in values if matcher.match({key: value}, ""))


def becoming(lowered: LoweredObject, values: NodeValues, native: Collection[str]) -> list[Becoming | VersionBecoming]:
    """Return what each comparison of an object could become."""
    comparing: Sequence[Raw] = [each for each in lowered.tolerations if is_comparing(each)]
    found: list[Becoming | VersionBecoming] = [
        Becoming(each, is_native, () if is_native else values.accepted(each))
        for each in comparing
        for is_native in (each.get("operator") in native,)
    ]
    found += (VersionBecoming(each, values.accepted_versions(each)) for each in lowered.versions)
    return found
