"""Find topology keys that no node of the input has as a label: pods that stay Pending, or rules without effect.

Every kubelet sets kubernetes.io/hostname, whether manifests of nodes show it or not. Without nodes in the input nothing
is known about their labels. Kubernetes: accepts any label key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from moorage.lint.catalogue import WARNING, Facts, Rule, Theme, collector
from moorage.lint.meant_words import meant_topology_key
from moorage.lint.rules.label_keys import affinity_terms
from moorage.lint.rules.spread import Domains
from moorage.lint.subject import Complaint, PlacedComplaint, PodPart, Subject
from moorage.match.label_keys import REQUIRED
from moorage.model.well_known.labels import HOSTNAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.lint.finding import SourcePlace
    from moorage.model.gates import GateSet

_RULE = "topology-key-missing"
_MAX_KEPT = 2_000
_PENDING = "the pods stay Pending"
_NOTHING = "it has no effect"


class _KeyUse(msgspec.Struct):
    """The first place that uses a key with this consequence, and how many more there are."""

    place: SourcePlace
    others: int = 0


@collector(
    Theme.LABEL_KEYS,
    Rule(_RULE, WARNING, "No node of the input has the label that the topologyKey names."),
)
class TopologyKeys:
    """The topology keys of pods."""

    def __init__(self, gates: GateSet) -> None:
        self._uses: dict[tuple[str, str], _KeyUse] = {}

    def add(self, subject: Subject) -> None:
        if subject.pods is None or subject.kind == "DaemonSet":
            return
        for key, path, consequence in _keys_of(subject.pods):
            use = self._uses.get((key, consequence))
            if use is not None:
                use.others += 1
            elif len(self._uses) < _MAX_KEPT:
                self._uses[key, consequence] = _KeyUse(subject.place(f"{path}.topologyKey"))

    def complaints(self, facts: Facts) -> Iterator[PlacedComplaint]:
        nodes = facts.of(Domains).nodes
        known = {key for node in nodes for key in node.labels}
        for (key, consequence), use in self._uses.items() if nodes else ():
            if key in known:
                continue
            meant = meant_topology_key(key, sorted(known))
            hint = f"did you mean {meant}?" if meant and meant != key else f"label the nodes with {key}"
            more = f" (and {use.others} more places)" if use.others else ""
            message = f"no node of the input has the label {key}: {consequence}{more}"
            yield Complaint(_RULE, use.place.path, message, hint), use.place


def _keys_of(pods: PodPart) -> Iterator[tuple[str, str, str]]:
    """Yield every key but that of hosts, with the path of its rule and what follows if no node has it."""
    for index, constraint in enumerate(pods.spec.topologySpreadConstraints):
        if constraint.topologyKey not in ("", HOSTNAME):
            consequence = _PENDING if constraint.whenUnsatisfiable == "DoNotSchedule" else _NOTHING
            yield constraint.topologyKey, f"{pods.spec_path}.topologySpreadConstraints[{index}]", consequence
    for path, term in affinity_terms(pods) if pods.spec.affinity is not None else ():
        if term.topologyKey not in ("", HOSTNAME):
            is_hard = f".podAffinity.{REQUIRED}[" in path
            yield term.topologyKey, path, _PENDING if is_hard else _NOTHING
