"""Tell which feature gates a rule needs: in which components, since which version, what is said where one is off."""

from collections.abc import Callable, Iterator
from typing import Any

from moorage.dashboard.questions.playing.rule_text import Raw
from moorage.lint.hints import gate_hint
from moorage.match.operators import NODE_SELECTOR, TOLERATION, gate_of
from moorage.model.gate_skew import HAZARDS
from moorage.model.gates import (
    GATES,
    MATCH_LABEL_KEYS_IN_POD_AFFINITY,
    TAINT_TOLERATION_CEL,
    Component,
    Gate,
    GateSet,
    all_gates,
)
from moorage.model.types.pod import PodSpec
from moorage.plan.gate_consequence import loses_fields, refusal

_SILENT = "nothing: it accepts the object and drops the fields"


def gates_needed(spec: PodSpec) -> dict[str, list[str]]:
    """Return the names of the gates, each with what of the rule needs it."""
    found: dict[str, list[str]] = {}
    for gate, what in _needs(spec):
        places = found.setdefault(gate.name, [])
        if what not in places:
            places.append(what)
    return found


def _needs(spec: PodSpec) -> Iterator[tuple[Gate, str]]:
    for index, toleration in enumerate(spec.tolerations):
        if toleration.expression:
            yield TAINT_TOLERATION_CEL, f"expression of tolerations[{index}]"
        elif (gate := gate_of(toleration.operator, TOLERATION)) is not None:
            yield gate, f"operator {toleration.operator} of tolerations[{index}]"
    affinity = spec.affinity
    if affinity is None:
        return
    if (node := affinity.nodeAffinity) is not None:
        required = node.requiredDuringSchedulingIgnoredDuringExecution
        terms = [*(required.nodeSelectorTerms if required else ())]
        terms += [one.preference for one in node.preferredDuringSchedulingIgnoredDuringExecution]
        for requirement in (one for term in terms for one in term.matchExpressions):
            if (gate := gate_of(requirement.operator, NODE_SELECTOR)) is not None:
                yield gate, f"operator {requirement.operator} for label {requirement.key}"
    for name in ("podAffinity", "podAntiAffinity"):
        about = getattr(affinity, name)
        if about is None:
            continue
        pod_terms = [*about.requiredDuringSchedulingIgnoredDuringExecution]
        pod_terms += [one.podAffinityTerm for one in about.preferredDuringSchedulingIgnoredDuringExecution]
        for term in pod_terms:
            for field in ("matchLabelKeys", "mismatchLabelKeys"):
                if getattr(term, field):
                    yield MATCH_LABEL_KEYS_IN_POD_AFFINITY, f"{field} of {name}"


def gate_rows(spec: PodSpec, pod: Raw, gates_of: Callable[[Component], GateSet]) -> list[dict[str, Any]]:
    """Return a row for each gate that the rule needs."""
    by_name = {gate.name: gate for gate in GATES}
    return [_row(by_name[name], what, pod, gates_of) for name, what in gates_needed(spec).items()]


def _row(gate: Gate, what: list[str], pod: Raw, gates_of: Callable[[Component], GateSet]) -> dict[str, Any]:
    components = [one for one in Component if one in gate.components]
    on, off = all_gates(), all_gates().with_gate(gate, False)
    said = refusal(pod, on, off)
    if not said and loses_fields(pod, on, off):
        said = _SILENT
    return {
        "name": gate.name,
        "feature": gate.feature,
        "neededBy": what[:20],
        "components": [
            {"component": str(one), "on": gates_of(one).enabled(gate), "whenOff": _when_off(gate, one, said, what)}
            for one in components
        ],
        "on": all(gates_of(one).enabled(gate) for one in components),
        "stage": str(gate.stage).lower(),
        "default": gate.default,
        "releases": [
            {"version": f"1.{one.minor}", "stage": str(one.stage).lower(), "default": one.default}
            for one in gate.releases
        ],
        "since": _since(gate),
        "hint": gate_hint(gate),
        "says": said,
    }


def _when_off(gate: Gate, component: Component, said: str, what: list[str]) -> str:
    """Return what happens where the gate is off in this component: the API server's words, else the table of skews."""
    if component is Component.API_SERVER:
        return said
    happens = [hazard.happens for hazard in HAZARDS if gate in hazard.gates and hazard.off is component]
    if len(happens) > 1 and not any("tolerations[" in one for one in what):
        happens = [one for one in happens if "affinity" in one] or happens
    return "; ".join(dict.fromkeys(happens))


def _since(gate: Gate) -> str:
    if not gate.releases:
        return "no Kubernetes release has it so far; Moorage has it"
    told = (
        f"{str(one.stage).lower() if str(one.stage) != 'GA' else 'GA'} "
        f"({'on' if one.default else 'off'} by default) since 1.{one.minor}"
        for one in gate.releases
    )
    return ", ".join(told)
