"""Put the forms of each toleration or requirement of a rule side by side, each as YAML and tried on the cluster."""

from typing import Any

from moorage.dashboard.questions.playing.forms.agreement import agreement
from moorage.dashboard.questions.playing.forms.from_cel import said_with_operators
from moorage.dashboard.questions.playing.forms.from_operators import form_of, forms_of
from moorage.dashboard.questions.playing.forms.requirement_forms import requirement_forms
from moorage.dashboard.questions.playing.forms.said import EXPRESSION, FORMS, TITLES, Said, toleration_yaml
from moorage.dashboard.questions.playing.known_nodes import KnownNodes
from moorage.dashboard.questions.playing.needed_gates import gates_needed
from moorage.match.evaluation.accounts import Evaluations
from moorage.match.taint_messages import describe_toleration
from moorage.model.types.node import NodeSelectorRequirement
from moorage.model.types.pod import PodSpec, Toleration

#: Of a long list the first ones are shown.
MAX_RULES = 10


def all_forms(spec: PodSpec, given: int, nodes: KnownNodes, evaluations: Evaluations) -> list[dict[str, Any]]:
    """Return the forms of the first tolerations that the user gave, or of the requirements and labels of affinity."""
    tolerations = spec.tolerations[: min(given, MAX_RULES)]
    found = [toleration_forms(one, nodes, evaluations) for one in tolerations]
    found += [requirement_forms(one, nodes) for one in _requirements(spec)[: MAX_RULES - len(found)]]
    return found


def _requirements(spec: PodSpec) -> list[NodeSelectorRequirement]:
    labels = [NodeSelectorRequirement(key, "In", (value,)) for key, value in spec.nodeSelector.items()]
    node = spec.affinity.nodeAffinity if spec.affinity else None
    if node is None:
        return labels
    required = node.requiredDuringSchedulingIgnoredDuringExecution
    terms = [*(required.nodeSelectorTerms if required else ())]
    terms += [one.preference for one in node.preferredDuringSchedulingIgnoredDuringExecution]
    return labels + [one for term in terms for one in term.matchExpressions]


def toleration_forms(toleration: Toleration, nodes: KnownNodes, evaluations: Evaluations) -> dict[str, Any]:
    """Return one toleration in all forms."""
    current = form_of(toleration)
    others = _of_expression(toleration) if current == EXPRESSION else forms_of(toleration)
    said = [Said(current, (toleration,)), *others]
    shown = [_shown(one, toleration, nodes, evaluations, current=number == 0) for number, one in enumerate(said)]
    effect = f" {toleration.effect}" if toleration.effect else ""
    title = f"{toleration.key or 'every key'}{effect}" if current != EXPRESSION else "expression"
    told = describe_toleration(toleration).removeprefix("toleration ")
    return {
        "title": told if current == EXPRESSION else f"{title}: {told}",
        "forms": sorted(shown, key=lambda one: FORMS.index(one["form"])),
    }


def _of_expression(toleration: Toleration) -> list[Said]:
    """Return an expression with operators, under the form that it has then."""
    found = said_with_operators(toleration.expression, toleration.tolerationSeconds)
    reason = found.why_not or f"it compares no such value: see {TITLES[found.form]}"
    return [found if form == found.form else Said(form, why_not=reason) for form in FORMS if form != EXPRESSION]


def _shown(
    said: Said, original: Toleration, nodes: KnownNodes, evaluations: Evaluations, *, current: bool
) -> dict[str, Any]:
    shown: dict[str, Any] = {"form": said.form, "title": TITLES[said.form], "current": current}
    if not said.tolerations:
        return {**shown, "exists": False, "whyNot": said.why_not}
    shown |= {
        "exists": True,
        "yaml": toleration_yaml(said.tolerations),
        "differs": said.differs,
        "exact": not said.differs,
        "gates": list(gates_needed(PodSpec(tolerations=said.tolerations))),
    }
    return shown if current else {**shown, "agreement": agreement((original,), said.tolerations, nodes, evaluations)}
