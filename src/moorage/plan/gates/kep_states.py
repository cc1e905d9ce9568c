"""Tell of each KEP of comparisons whether a cluster has it natively, attached, or not at all, and why.

The gates decide as far as components tell them, else the version of the cluster: a release without a gate does not know
the operators. What lowers is a webhook or a policy of attach. Kubernetes: KEP-5471 is alpha since 1.35; KEP-5721 and
KEP-5500 are in no release. Differs: an operator is native only if its gate is on in every component that tells it.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from moorage.attach.policies.lowering import NAME
from moorage.lint.report.form import counted
from moorage.match.operators import TOLERATION, gate_of, less_first, names_in
from moorage.model.gate_skew import listed
from moorage.model.gates import (
    SEMVER_COMPARISON_OPERATORS,
    TAINT_TOLERATION_CEL,
    TAINT_TOLERATION_COMPARISON_OPERATORS,
    Component,
    Gate,
)
from moorage.plan.input.live_gates import LiveGates


class Standing(StrEnum):
    """What a cluster makes of a feature."""

    NATIVE = "native"
    ATTACHED = "attached"
    ABSENT = "absent"
    UNKNOWN = "unknown"


class Lowering(StrEnum):
    """What lowers new objects of a cluster."""

    WEBHOOK = "webhook"
    POLICY = "policy"
    NOTHING = ""


class Kep(NamedTuple):
    """A KEP whose feature attach brings to clusters; `by_policy`: also without a webhook."""

    name: str
    feature: str
    gate: Gate
    by_policy: bool


class KepState(NamedTuple):
    """How a cluster has a KEP, and why."""

    kep: Kep
    standing: Standing
    why: str


def _operators(gate: Gate) -> str:
    return listed(less_first(name for name in names_in(TOLERATION) if gate_of(name, TOLERATION) is gate))


KEPS: Final = (
    Kep(
        "KEP-5471",
        f"{_operators(TAINT_TOLERATION_COMPARISON_OPERATORS)} in tolerations",
        TAINT_TOLERATION_COMPARISON_OPERATORS,
        True,
    ),
    Kep(
        "KEP-5721",
        f"{_operators(SEMVER_COMPARISON_OPERATORS)} in tolerations and node affinity",
        SEMVER_COMPARISON_OPERATORS,
        False,
    ),
    Kep("KEP-5500", "CEL expressions in tolerations", TAINT_TOLERATION_CEL, False),
)


def kep_states(gates: LiveGates, minor: int | None, lowering: Lowering | None) -> list[KepState]:
    """Return the state of each KEP. `minor` is the cluster's version, and `lowering` None, if they are not known."""
    return [_state(kep, gates.values.get(kep.gate.name, {}), minor, lowering) for kep in KEPS]


def _state(kep: Kep, values: Mapping[str, bool], minor: int | None, lowering: Lowering | None) -> KepState:
    server = values.get(Component.API_SERVER.value)
    on = [name for name, value in values.items() if value]
    off = [name for name, value in values.items() if not value]
    if values and not off:
        kept = f"; {_lowers(lowering)} leaves it alone" if lowering else ""
        return KepState(kep, Standing.NATIVE, f"{kep.gate.name} is on in {listed(on)}{kept}")
    is_told = server is not None or bool(values)
    if on and off:
        gate = f"{kep.gate.name} is on in {listed(on)}, but off in {listed(off)}"
    elif is_told:
        gate = f"{kep.gate.name} is off"
    else:
        gate = _by_version(kep.gate, minor)
    if lowering is Lowering.WEBHOOK or (lowering is Lowering.POLICY and kep.by_policy):
        return KepState(kep, Standing.ATTACHED, f"{_lowers(lowering)} lowers it; {gate}")
    if lowering is Lowering.POLICY:
        gate += f"; the policy of attach lowers {_operators(TAINT_TOLERATION_COMPARISON_OPERATORS)} only"
    is_known = is_told or (minor is not None and kep.gate.in_release(minor) is None)
    if lowering is None or not is_known:
        more = "; whether attach is installed cannot be read" if lowering is None else ""
        return KepState(kep, Standing.UNKNOWN, gate + more)
    return KepState(kep, Standing.ABSENT, gate)


def _lowers(lowering: Lowering | None) -> str:
    return f"the {lowering} {NAME}"


def _by_version(gate: Gate, minor: int | None) -> str:
    since = gate.accepted_from()
    if since is None:
        return "no release of Kubernetes has it"
    if minor is None:
        return f"neither the gate {gate.name} nor the version of the cluster can be read"
    known = gate.in_release(minor)
    if known is None:
        return f"Kubernetes 1.{minor} does not have it: it came with 1.{since}"
    default = "on" if known.default else "off"
    return f"{gate.name} is not told; it is {known.stage.value.lower()} in 1.{minor}, {default} by default"


def kep_lines(states: Sequence[KepState]) -> Iterator[tuple[str, str]]:
    """Yield a heading for each KEP, and why it is so."""
    for kep, standing, why in states:
        yield f"{kep.name}  {standing.value:8}  {kep.feature}", why
    if advice := advice_on(states):
        yield advice, ""


def advice_on(states: Sequence[KepState]) -> str:
    """Say what brings the KEPs that are absent; nothing if none is."""
    absent = sum(state.standing is Standing.ABSENT for state in states)
    if not absent:
        return ""
    return f"moorage attach install brings the {counted(absent, 'KEP')} that {'is' if absent == 1 else 'are'} absent"


def as_rows(states: Sequence[KepState]) -> list[dict[str, str]]:
    return [
        {
            "kep": state.kep.name,
            "feature": state.kep.feature,
            "gate": state.kep.gate.name,
            "standing": state.standing.value,
            "why": state.why,
        }
        for state in states
    ]
