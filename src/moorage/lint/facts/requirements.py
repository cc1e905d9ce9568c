"""Collect which feature gates the input needs, where first, and which Kubernetes versions accept it as written.

Kubernetes: pkg/features.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.lint.facts.device_gates import DROPPED_SILENTLY as DROPPED_FROM_DEVICES
from moorage.lint.facts.device_gates import KINDS as DEVICE_KINDS
from moorage.lint.facts.device_gates import device_gates
from moorage.lint.finding import SourcePlace
from moorage.lint.rules.label_keys import affinity_terms
from moorage.lint.subject import PodPart, Subject, node_requirements
from moorage.match.node_selector import needed_by
from moorage.match.operators import TOLERATION, gate_of
from moorage.model.gates import (
    DYNAMIC_RESOURCE_ALLOCATION,
    MATCH_LABEL_KEYS_IN_POD_AFFINITY,
    MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD,
    TAINT_TOLERATION_CEL,
    Gate,
)

#: Servers without these features drop the fields silently instead of refusing the object.
_DROPPED_SILENTLY = DROPPED_FROM_DEVICES | {
    MATCH_LABEL_KEYS_IN_POD_AFFINITY.name,
    MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD.name,
}


class Requirement(msgspec.Struct, frozen=True):
    """A feature the input uses: its gate, and the first place that needs it."""

    gate: Gate
    place: SourcePlace

    @property
    def versions(self) -> str:
        first, by_default = self.gate.accepted_from(), self.gate.accepted_by_default_from()
        if first is None:
            return "no release so far"
        if by_default is None:
            return f"Kubernetes 1.{first} and later, off by default"
        if by_default == first:
            return f"Kubernetes 1.{by_default} and later"
        until = f" to 1.{by_default - 1}" if by_default > first + 1 else ""
        return f"Kubernetes 1.{by_default} and later, off by default in 1.{first}{until}"

    @property
    def sentence(self) -> str:
        if self.gate.accepted_from() is None:
            return "No Kubernetes release has it so far: it is rejected everywhere but in Moorage."
        return f"{self.versions}; elsewhere it {self.otherwise}."

    @property
    def otherwise(self) -> str:
        return "is dropped silently" if self.gate.name in _DROPPED_SILENTLY else "is rejected"


class Acceptance(msgspec.Struct, frozen=True):
    """The minor versions that have all that the input uses: from `first` on with `gates`, from `by_default` on without.

    Both None: no release so far. With `rejected`, some of the input is refused for other reasons, by all versions.
    """

    first: int | None
    by_default: int | None
    gates: tuple[str, ...]
    rejected: bool = False

    @property
    def sentence(self) -> str:
        accept = "have these features" if self.rejected else "accept it as written"
        if self.first is None:
            sentence = "No Kubernetes release so far accepts all of it as written"
        elif self.by_default == 0:
            sentence = "No feature gates are needed; every supported Kubernetes version accepts these features"
        else:
            flags = "--feature-gates=" + ",".join(f"{name}=true" for name in self.gates)
            if self.by_default is None:
                sentence = f"Kubernetes 1.{self.first} and later {accept} with {flags}"
            else:
                earlier = f", and 1.{self.first} and later with {flags}" if self.first < self.by_default else ""
                sentence = f"Kubernetes 1.{self.by_default} and later {accept}{earlier}"
        return (
            f"{sentence}; what is rejected for other reasons, no version accepts." if self.rejected else f"{sentence}."
        )


class Requirements:
    """Collects features as subjects pass by."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Requirement] = {}

    def add(self, subject: Subject) -> None:
        for gate, path in gates_needed(subject.kind, subject.view, subject.pods):
            if (gate.name, gate.feature) not in self._found:
                self.add_gate(gate, subject.place(path))

    def add_gate(self, gate: Gate, place: SourcePlace) -> None:
        """Note that a field needs a gate, unless another field did before."""
        self._found.setdefault((gate.name, gate.feature), Requirement(gate, place))

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self._found.values())

    def acceptance(self, *, rejected: bool = False) -> Acceptance:
        gates = [requirement.gate for requirement in self]
        firsts = [gate.accepted_from() for gate in gates]
        defaults = [gate.accepted_by_default_from() for gate in gates]
        first = None if None in firsts else max((one for one in firsts if one is not None), default=0)
        by_default = (
            None if None in defaults else max((default for default in defaults if default is not None), default=0)
        )
        named = tuple(dict.fromkeys(gate.name for gate in gates if not _on_by_default(gate, first)))
        return Acceptance(first, by_default if first is not None else None, named, rejected)


def _on_by_default(gate: Gate, minor: int | None) -> bool:
    """Return whether the minor version has the gate on by default; None stands for later than the last release."""
    by_default = gate.accepted_by_default_from()
    return by_default is not None and (minor is None or by_default <= minor)


def gates_needed(kind: str, view: Any, pods: PodPart | None) -> Iterator[tuple[Gate, str]]:
    """Yield the gate of every field of an object that needs one, with the field's path."""
    if kind in DEVICE_KINDS:
        yield from device_gates(kind, view)
    if pods is not None:
        if pods.spec.resourceClaims:
            yield DYNAMIC_RESOURCE_ALLOCATION, f"{pods.spec_path}.resourceClaims"
        yield from _needed_by_tolerations(pods)
        for path, term in affinity_terms(pods):
            for name in ("matchLabelKeys", "mismatchLabelKeys"):
                if getattr(term, name):
                    yield MATCH_LABEL_KEYS_IN_POD_AFFINITY, f"{path}.{name}"
        for index, constraint in enumerate(pods.spec.topologySpreadConstraints):
            if constraint.matchLabelKeys:
                path = f"{pods.spec_path}.topologySpreadConstraints[{index}].matchLabelKeys"
                yield MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD, path
    for path, requirement in node_requirements(kind, view, pods):
        if (gate := needed_by(requirement)) is not None:
            yield gate, f"{path}.operator"


def _needed_by_tolerations(pods: PodPart) -> Iterator[tuple[Gate, str]]:
    for index, toleration in enumerate(pods.spec.tolerations):
        path = f"{pods.spec_path}.tolerations[{index}]"
        if toleration.attached:
            continue
        if toleration.expression:
            yield TAINT_TOLERATION_CEL, f"{path}.expression"
        elif (gate := gate_of(toleration.operator, TOLERATION)) is not None:
            yield gate, f"{path}.operator"
