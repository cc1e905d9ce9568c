"""Judge a rule that is being written: problems at their place, cost, nodes that match and why not, forms, gates.

In: `kind` (tolerations, affinity, nodeSelector or cel), `text`, `taints` (pasted lines, instead of the cluster's nodes)
and `gates` (names and values, as if every component had them so). Out: parts with `errors`, `cel`, `gates` and
what kind of rule the text looks like, if another; then `nodes` and `taints`; then `forms`.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from moorage.admit.chain import Admission
from moorage.admit.objects_world import ObjectsWorld
from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.dashboard.questions.playing.forms import all_forms
from moorage.dashboard.questions.playing.known_nodes import (
    KnownNode,
    KnownNodes,
    PasteProblem,
    cluster_nodes,
    pasted_nodes,
)
from moorage.dashboard.questions.playing.matching import (
    LabelAnswers,
    NodeAnswer,
    PodAnswers,
    TaintAnswers,
    both,
    grouped,
)
from moorage.dashboard.questions.playing.needed_gates import gate_rows
from moorage.dashboard.questions.playing.problems import expression_facts, expressions_of, problems_of, unreadable_text
from moorage.dashboard.questions.playing.rule_text import CEL, KINDS, TOLERATIONS, RuleText, other_kind
from moorage.match.evaluation.accounts import Evaluations
from moorage.match.tolerations import ProgramCache, TolerationSet, compile_tolerations
from moorage.model.gates import GATES, Component, Gate, GateSet
from moorage.model.text.decode_error import DecodeError
from moorage.model.types.pod import Pod

MAX_TEXT_BYTES = 64 * 1024
#: What the expressions of one answer may cost altogether: about a second.
EVALUATION_BUDGET = 10_000_000
MAX_TOLERATIONS = 500


class Asked(msgspec.Struct, frozen=True):
    """The arguments of the question."""

    kind: str
    text: str
    taints: str | None
    gates: dict[Gate, bool]


def asked(arguments: dict[str, Any]) -> Asked:
    """Return the arguments. Raises BadQuestion."""
    kind = arguments.get("kind", TOLERATIONS)
    if kind not in KINDS:
        raise BadQuestion(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
    taints = arguments.get("taints")
    return Asked(
        kind,
        text_asked(arguments.get("text", ""), "text"),
        None if taints is None else text_asked(taints, "taints"),
        gates_asked(arguments.get("gates") or {}),
    )


def text_asked(value: Any, name: str) -> str:
    """Return a text with line feeds alone. Raises BadQuestion."""
    if not isinstance(value, str):
        raise BadQuestion(f"{name} must be a string")
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError:
        raise BadQuestion(f"{name} holds characters that are no Unicode text") from None
    if size > MAX_TEXT_BYTES:
        raise BadQuestion(f"{name} is longer than {MAX_TEXT_BYTES // 1024} KiB")
    return value.replace("\r\n", "\n").replace("\r", "\n")


def gates_asked(given: Any) -> dict[Gate, bool]:
    """Return gates that are taken to be on or off. Raises BadQuestion."""
    known = {gate.name: gate for gate in GATES}
    if not isinstance(given, dict):
        raise BadQuestion("gates must be an object of names and booleans")
    for name, value in given.items():
        if name not in known:
            raise BadQuestion(f"there is no feature gate {name!r}")
        if not isinstance(value, bool):
            raise BadQuestion(f"gates.{name} must be true or false")
    return {known[name]: value for name, value in given.items()}


def nodes_of(base: Base, asked_for: Asked) -> tuple[KnownNodes, list[PasteProblem]]:
    """Return the nodes that the rule is tried on, and what is wrong with pasted ones."""
    if asked_for.taints is not None:
        return pasted_nodes(asked_for.taints)
    return cluster_nodes(base.simulation.cluster.nodes), []


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    for part in _Judging(base, asked(arguments)).parts():
        yield msgspec.to_builtins(part)


class _Judging:
    """One text, judged part by part."""

    def __init__(self, base: Base, asked_for: Asked) -> None:
        self._base, self._asked = base, asked_for
        self._evaluations = Evaluations(EVALUATION_BUDGET)
        self._programs = ProgramCache(64, self._evaluations)

    def _gates_of(self, component: Component) -> GateSet:
        gates = self._base.planner.settings.gates_of(component)
        for gate, value in self._asked.gates.items():
            gates = gates.with_gate(gate, value)
        return gates

    def parts(self) -> Iterator[Part]:
        asked_for = self._asked
        try:
            text = RuleText(asked_for.kind, asked_for.text)
        except DecodeError as error:
            looks_like = other_kind(asked_for.kind, asked_for.text)
            errors = [unreadable_text(asked_for.text, error)]
            yield {"errors": errors, "cel": [], "gates": [], "readable": False, "looksLike": looks_like}
            return
        expressions = expressions_of(text)
        api_server = self._gates_of(Component.API_SERVER)
        result = Admission(ObjectsWorld(), api_server).admit(text.pod)
        pod: Any = result.view
        given = len(text.pod["spec"].get("tolerations") or ())
        problems = problems_of(text, expressions, api_server)
        yield {
            "errors": problems,
            "cel": [expression_facts(expression) for expression in expressions],
            "gates": gate_rows(pod.spec, text.pod, self._gates_of) if pod is not None else [],
            "readable": pod is not None,
            "empty": text.is_empty,
            "looksLike": other_kind(text.kind, text.text) if problems or text.is_empty else None,
        }
        if pod is None or text.is_empty or (text.kind == CEL and isinstance(expressions[0].compiled, list)):
            return
        if given > MAX_TOLERATIONS:
            raise BadQuestion(f"more than {MAX_TOLERATIONS} tolerations are not tried on nodes")
        yield from self._matches(pod, given)

    def _matches(self, pod: Pod, given: int) -> Iterator[Part]:
        nodes, complaints = nodes_of(self._base, self._asked)
        tells_taints = self._asked.kind in (TOLERATIONS, CEL)
        part: Part = {"pasted": self._asked.taints is not None, "pasteProblems": complaints}
        if tells_taints:
            answers = self._taint_answers(pod, given)
            part |= {"nodes": grouped(nodes, answers.of_node), "taints": answers.table(nodes)}
        else:
            part["nodes"] = grouped(nodes, self._label_answers(pod))
        part["given"] = given
        yield part
        forms = all_forms(pod.spec, given, nodes, self._evaluations)
        yield {"forms": forms, "givenUp": self._evaluations.given_up, "done": True}

    def _taint_answers(self, pod: Pod, given: int) -> TaintAnswers:
        def compiled(component: Component, name: str) -> TolerationSet:
            gates = self._gates_of(component)
            return compile_tolerations(pod.spec.tolerations, gates, self._programs, component=name)

        scheduler = compiled(Component.SCHEDULER, "the scheduler")
        manager = compiled(Component.CONTROLLER_MANAGER, "the controller manager")
        return TaintAnswers(scheduler, manager, given)

    def _label_answers(self, pod: Pod) -> Callable[[KnownNode], NodeAnswer]:
        labels = LabelAnswers(pod.spec, self._gates_of(Component.SCHEDULER))
        affinity = pod.spec.affinity
        is_pasted = self._asked.taints is not None
        if affinity is None or is_pasted or (affinity.podAffinity is None and affinity.podAntiAffinity is None):
            return labels.of_node
        self._base.simulation.scheduling.take_in()
        pods = PodAnswers(pod, self._base.simulation.cluster)
        return lambda node: both(labels.of_node(node), pods.of_node(node))
