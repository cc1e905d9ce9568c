"""Explain how policies that are being written decide about an object, with what is wrong with both texts.

In: `policies` (policies, bindings, parameters, other objects) and `object`, two texts; `operation` (an UPDATE has the
object as it was in front of the object); `user`; `gates`. Out: a part with `problems` of both texts; then
`explanation`, or `refused` with why there is none. Namespaces and definitions of the cluster count unless the text has
them. Of many policies the first are explained, and `left` counts the others, which decide all the same.

The answers are those of `moorage policy explain`.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from moorage.admit.raw import Raw
from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.dashboard.questions.playground import gates_asked, text_asked
from moorage.dashboard.questions.policies.known import document_of
from moorage.dashboard.questions.policies.manifest_text import ManifestText
from moorage.model.gates import Component, Gate, GateSet
from moorage.model.kinds import KINDS
from moorage.plan.input.inventory import Inventory
from moorage.policy.cases import CREATE, DELETE, UPDATE, PlacedObject, UnreadableCases
from moorage.policy.explaining import explain_policies
from moorage.policy.explanation_text import explanation_document
from moorage.policy.judging import user_of
from moorage.policy.server import PolicyRequest

OPERATIONS = (CREATE, UPDATE, DELETE)
MAX_USER = 1024
_POLICY_NAMES = frozenset((KINDS.VALIDATING_ADMISSION_POLICY.name, KINDS.MUTATING_ADMISSION_POLICY.name))
#: What requests find in the cluster although the text does not have it.
_SURROUNDINGS = (KINDS.NAMESPACE, KINDS.CUSTOM_RESOURCE_DEFINITION)
_MOST_EXPLAINED = 20


class PolicyQuestion(msgspec.Struct, frozen=True):
    """The arguments of the question."""

    policies: str
    object: str
    operation: str
    user: str
    gates: dict[Gate, bool]


def asked(arguments: dict[str, Any]) -> PolicyQuestion:
    """Return the arguments. Raises BadQuestion."""
    operation = arguments.get("operation") or CREATE
    if operation not in OPERATIONS:
        raise BadQuestion(f"operation must be one of {', '.join(OPERATIONS)}, not {operation!r}")
    user = text_asked(arguments.get("user", ""), "user").strip()
    if len(user) > MAX_USER or "\n" in user:
        raise BadQuestion("user must be a name in one line")
    return PolicyQuestion(
        text_asked(arguments.get("policies", ""), "policies"),
        text_asked(arguments.get("object", ""), "object"),
        operation,
        user,
        gates_asked(arguments.get("gates") or {}),
    )


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    wanted = asked(arguments)
    gates = base.planner.settings.gates_of(Component.API_SERVER)
    for gate, value in wanted.gates.items():
        gates = gates.with_gate(gate, value)
    policies, subject = ManifestText("policies", wanted.policies), ManifestText("object", wanted.object)
    problems = policies.problems(gates)
    told = {"policies": problems, "object": subject.problems(gates, refusals_only=True)}
    yield msgspec.to_builtins({"problems": told})
    if missing := _missing(policies, subject, wanted.operation):
        yield {"refused": missing, "done": True}
    elif any(one.severity == "error" for one in problems):
        yield {"refused": "", "done": True}
    else:
        request = _request([document.raw for document in subject.documents], wanted)
        yield {**_explained(base.planner.inventory, policies, request, gates), "done": True}


def _missing(policies: ManifestText, subject: ManifestText, operation: str) -> str:
    """Say what a question needs and has not got."""
    if not any(document.raw.get("kind") in _POLICY_NAMES for document in policies.documents):
        return "Write a policy, or choose an example."
    needed, given = 2 if operation == UPDATE else 1, len(subject.documents)
    if needed == given:
        return ""
    if not given:
        return "Write an object that the policies are asked about."
    if needed == 2:
        return "An update needs two objects, divided by ---: as it was, and as it shall be."
    return f"There should be one object, and there are {given}."


def _request(given: Sequence[Raw], wanted: PolicyQuestion) -> PolicyRequest:
    old = given[0] if wanted.operation != CREATE else None
    new = given[-1] if wanted.operation != DELETE else None
    return PolicyRequest(wanted.operation, new, old, user_of(wanted.user))


def _explained(inventory: Inventory, policies: ManifestText, request: PolicyRequest, gates: GateSet) -> Part:
    objects = policies.placed()
    names = [one.raw["metadata"].get("name", "") for one in objects if one.raw.get("kind") in _POLICY_NAMES]
    try:
        objects = [*_surroundings(inventory, objects), *objects]
        explanation = asyncio.run(explain_policies(objects, request, gates, names[:_MOST_EXPLAINED]))
    except UnreadableCases as error:
        return {"refused": str(error)}
    document: Part = msgspec.to_builtins(explanation_document(explanation))
    for policy in document["policies"]:
        _add_lines(policy, policies)
    return {"explanation": document, "left": len(names[_MOST_EXPLAINED:])}


def _surroundings(inventory: Inventory, given: Sequence[PlacedObject]) -> Iterator[PlacedObject]:
    """Yield what the cluster has around the object, unless it is written."""
    written = {(one.raw.get("kind"), (one.raw.get("metadata") or {}).get("name")) for one in given}
    for item in inventory.of_kind(*(kind.name for kind in _SURROUNDINGS)):
        if (item.key.kind, item.key.name) not in written:
            yield PlacedObject(document_of(item), f"{item.key} of the cluster")


def _add_lines(policy: Part, text: ManifestText) -> None:
    """Add to each expression of a policy the line of the text in which it is."""
    for document in text.documents:
        raw = document.raw
        if (raw.get("kind"), (raw.get("metadata") or {}).get("name")) == (policy["kind"], policy["policy"]):
            for part in _fields_below(policy):
                part["line"], part["column"] = document.location(part["field"])


def _fields_below(value: Any) -> Iterator[Part]:
    """Yield the expressions and failures of an explained policy."""
    if isinstance(value, list):
        for each in value:
            yield from _fields_below(each)
    elif isinstance(value, dict):
        if "field" in value:
            yield value
        else:
            for name, each in value.items():
                if name != "param":
                    yield from _fields_below(each)
