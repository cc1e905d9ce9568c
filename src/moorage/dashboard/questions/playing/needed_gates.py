"""Tell which gates a rule needs: in which components, since which version, and what is answered where one is off."""

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
from moorage.plan.gates.consequence import loses_fields, refusal

_SILENT = "nothing: it accepts the object and drops the fields"


def gates_needed(spec: PodSpec) -> dict[str, list[str]]:
    """Return the names of the gates, each with what of the rule needs it."""
    places_by_gate: dict[str, list[str]] = {}
    for gate, what in _needs(spec):
        places = places_by_gate.setdefault(gate.name, [])
        if what not in places:
            places.append(what)
    return places_by_gate


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
    consequence = refusal(pod, on, off)
    if not consequence and loses_fields(pod, on, off):
        consequence = _SILENT
    return {
        "name": gate.name,
        "feature": gate.feature,
        "neededBy": what[:20],
        "components": [
            {
                "component": str(component),
                "on": gates_of(component).enabled(gate),
                "whenOff": _when_off(gate, component, consequence, what),
            }
            for component in components
        ],
        "on": all(gates_of(component).enabled(gate) for component in components),
        "stage": str(gate.stage).lower(),
        "default": gate.default,
        "releases": [
            {"version": f"1.{release.minor}", "stage": str(release.stage).lower(), "default": release.default}
            for release in gate.releases
        ],
        "since": _since(gate),
        "hint": gate_hint(gate),
        "says": consequence,
    }


def _when_off(gate: Gate, component: Component, consequence: str, what: list[str]) -> str:
    """Return what happens where the gate is off in this component: the API server's words, else the table of skews."""
    if component is Component.API_SERVER:
        return consequence
    happens = [hazard.happens for hazard in HAZARDS if gate in hazard.gates and hazard.off is component]
    if len(happens) > 1 and not any("tolerations[" in place for place in what):
        happens = [text for text in happens if "affinity" in text] or happens
    return "; ".join(dict.fromkeys(happens))


def _since(gate: Gate) -> str:
    if not gate.releases:
        return "no Kubernetes release has it so far; Moorage has it"
    stages = (
        f"{str(release.stage).lower() if str(release.stage) != 'GA' else 'GA'} "
        f"({'on' if release.default else 'off'} by default) since 1.{release.minor}"
        for release in gate.releases
    )
    return ", ".join(stages)
