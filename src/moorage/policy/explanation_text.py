"""Write an explanation of policies as lines of text, and as plain data for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from moorage.admit.extension.policies.mutating.tracing import MutationTrace, TracedMutation
from moorage.admit.extension.policies.tracing import TracedExpression
from moorage.match.cel.trace.tracing import TracedPart
from moorage.policy.explaining import ExplainedPolicy, Explanation, Trace


def explanation_lines(explanation: Explanation) -> list[str]:
    """Return what all policies together make of the request, then each with its expressions."""
    answer = explanation.answer
    lines = [f"{answer.decision}: {answer.message}" if answer.message else answer.decision]
    lines += [f"warning: {warning}" for warning in answer.warnings]
    if not explanation.policies:
        lines.append("No policy sees the object: the API server refuses it first.")
    for one in explanation.policies:
        lines += ["", *_policy(one)]
    return lines


def _policy(explained: ExplainedPolicy) -> Iterator[str]:
    trace = explained.trace
    through = f", binding {trace.binding}" if explained.is_bound else ", which is bound by nothing here"
    yield f"{explained.kind} {trace.policy}{through}"
    if standing := standing_of(trace):
        yield f"  {standing}"
    for part in _params(trace):
        yield f"  {part}"


def idle_policies(explanation: Explanation) -> list[str]:
    """Say of each policy that has no say in the request why it has none."""
    lines = []
    for one in explanation.policies:
        standing = standing_of(one.trace) or _unmet(one.trace)
        if not one.is_bound:
            standing = "does nothing: no binding of the input names it"
        if standing:
            lines.append(f"{one.kind} {one.trace.policy} {standing}")
    return lines


def _unmet(trace: Trace) -> str:
    """Say which match condition is false; empty unless there is one for each parameter."""
    false = [
        next((each for each in param.conditions if each.trace is not None and each.trace.root.value == "false"), None)
        for param in trace.params
    ]
    return "" if not false or false[0] is None or None in false else f"does not match: {false[0].field} is false"


def standing_of(trace: Trace) -> str:
    """Say why a policy decides nothing about the request; empty if it does decide."""
    missing = f"there is no {trace.missing} in the input" if trace.missing else ""
    if trace.problem:
        return f"cannot be applied: {trace.problem}{f': {missing}' if missing else ''}"
    if trace.unmatched:
        return f"does not match the request: {trace.unmatched}"
    return f"is not applied: {missing}" if missing else ""


def _params(trace: Trace) -> Iterator[str]:
    for one in trace.params:
        if one.param is not None:
            metadata = one.param.get("metadata") or {}
            name = "/".join(filter(None, (metadata.get("namespace"), metadata.get("name"))))
            yield f"parameter {one.param.get('kind')} {name}"
        yield from _expressions(one.conditions)
    if isinstance(trace, MutationTrace):
        for params in trace.params:
            if not params.mutations and params.conditions:
                yield "its match conditions do not hold"
            for mutation in params.mutations:
                yield from _mutation(mutation)
        return
    for decided in trace.params:
        for expressions in (decided.variables, decided.validations, decided.messages, decided.annotations):
            yield from _expressions(expressions)
    for failure in trace.remarks.failures:
        yield f"{', '.join(failure.actions)}: {failure.message}"


def _mutation(mutation: TracedMutation) -> Iterator[str]:
    yield from _expressions(mutation.variables)
    yield from _expressions((mutation.expression,))
    if mutation.problem:
        yield f"  makes no patch: {mutation.problem}"
    elif not mutation.patch:
        yield "  changes nothing"
    for operation in mutation.patch:
        yield f"  patch: {msgspec.json.encode(operation).decode()}"


def _expressions(expressions: Sequence[TracedExpression]) -> Iterator[str]:
    for one in expressions:
        yield f"{one.field}{f' ({one.name})' if one.name else ''}"
        if one.trace is None:
            yield f"  {one.problem}"
            continue
        yield from _part(one.trace.root, "  ")
        if one.trace.is_cut:
            yield "  … more parts are not shown"


def _part(part: TracedPart, indent: str) -> Iterator[str]:
    """Yield a part with its value, and those that it is made of below it."""
    expression = " ".join(part.expression.split())
    if part.skipped:
        yield f"{indent}{expression}  not evaluated"
        return
    value = f"error: {part.error}" if part.error is not None else part.value
    yield f"{indent}{expression}  → {value}"
    for below in part.parts:
        yield from _part(below, f"{indent}  ")
    for iteration in part.iterations:
        variables = ", ".join(f"{name} = {text}" for name, text in iteration.variables.items())
        yield f"{indent}  {iteration.number} of {part.passes}: {variables}"
        for below in iteration.parts:
            yield from _part(below, f"{indent}    ")


def explanation_document(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as plain data."""
    answer = explanation.answer
    return {
        "version": 1,
        "decision": answer.decision,
        "message": answer.message,
        "warnings": answer.warnings,
        "audit": answer.remarks.audit,
        "object": answer.object,
        "policies": [
            {
                "kind": one.kind,
                "isBound": one.is_bound,
                "standing": standing_of(one.trace),
                "failures": _failures(one.trace),
                **{name: value for name, value in _plain(one.trace).items() if name not in ("remarks", "refusal")},
            }
            for one in explanation.policies
        ],
    }


def _failures(trace: Trace) -> list[dict[str, Any]]:
    """Return what a policy that validates holds against the object, with the actions that its binding asks for."""
    if isinstance(trace, MutationTrace):
        return []
    return [{"field": one.field, "message": one.message, "actions": one.actions} for one in trace.remarks.failures]


def _plain(trace: Trace) -> dict[str, Any]:
    """Return a trace as JSON has it, without the values that only CEL computes with."""
    document: dict[str, Any] = msgspec.structs.asdict(trace)
    document["params"] = [_without_results(msgspec.structs.asdict(param)) for param in trace.params]
    return document


def _without_results(value: Any) -> Any:
    if isinstance(value, TracedExpression):
        trace = value.trace
        shown: dict[str, Any] = {"field": value.field, "name": value.name, "expression": value.source}
        if trace is None:
            return {**shown, "problem": value.problem}
        shown |= {"value": trace.root.value, "error": trace.error, "cost": trace.cost, "isCut": trace.is_cut}
        return {**shown, "parts": trace.root}
    if isinstance(value, TracedMutation):
        return _without_results(msgspec.structs.asdict(value))
    if isinstance(value, dict):
        return {name: _without_results(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return [_without_results(each) for each in value]
    return value
