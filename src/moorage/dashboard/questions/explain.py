"""Explain one pod or one node, as `moorage explain` does, and make what would help ready to be tried.

Of a pod: every plugin's answer for every node, scores, preemption, remedies. Of a node: how full it is, which pods are
on it, and of all others whether they could be, and why not.

`explanation` is what `moorage explain -o json` prints. `matrix` has the same refusals as a table, nodes × filter
plugins, with nodes of which all plugins say the same in one row, and rows that differ by values only in one family, as
the command's lines; `remedies` has for each suggestion what to do.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import Any

from moorage.columns.shape import Shape
from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.plan.explain.daemon_set import DaemonExplanation, explain_daemon_set, plain_daemon_set
from moorage.plan.explain.explanation import Explanation, explain_pod, plain
from moorage.plan.explain.groups import Line, Refused
from moorage.plan.explain.groups import families as families_of
from moorage.plan.explain.node import explain_node, plain_node
from moorage.plan.explain.remedies.change import Change
from moorage.plan.explain.remedies.remedy import remedy_of
from moorage.plan.explain.target import Target, TargetError, daemon_set_named, find_target
from moorage.plan.pod_lines import State
from moorage.plan.report.plain import as_data
from moorage.plan.report.reasons import shortened
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.diagnosis import Refusal
from moorage.schedule.framework.plugin import Verdict
from moorage.schedule.preemption.nominations import NominatedPods

MAX_ROWS = 500
MAX_NAMES = 200


def pod(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part about the pod `pod`; with `node`, that node in full; with `alone`, no other is placed before."""
    name, node, alone = arguments.get("pod"), arguments.get("node") or "", arguments.get("alone", False)
    if not isinstance(name, str) or not name or not isinstance(node, str) or not isinstance(alone, bool):
        raise BadQuestion('explain takes {"pod": "NAMESPACE/NAME" or "deployment/NAMESPACE/NAME"}, "node" and "alone"')
    simulation, inventory = base.simulation, base.planner.inventory
    try:
        daemon_set = daemon_set_named(inventory, name)
        if daemon_set is not None:
            told = explain_daemon_set(simulation, inventory, daemon_set, node, alone=alone)
            yield _daemon_set(told)
            return
        target = find_target(simulation, inventory, name, alone=alone)
        explanation = explain_pod(simulation, inventory, target, node)
    except TargetError as error:
        raise BadQuestion(str(error)) from None

    def remedy(*changes: Change) -> dict[str, Any]:
        document: dict[str, Any] = as_data(remedy_of(changes, target.pod, target.record.pod, simulation, inventory))
        return document

    yield {
        "explanation": plain(explanation),
        "verdict": explanation.sentence,
        "short": shortened(explanation.message),
        "matrix": _matrix(simulation, target, explanation),
        "remedies": [remedy(suggestion.change) for suggestion in explanation.suggestions],
        "togetherRemedy": remedy(*explanation.together.changes) if explanation.together is not None else None,
        "done": True,
    }


def _daemon_set(told: DaemonExplanation) -> Part:
    """Return the explanation of a DaemonSet, with as many rows and names as a page shows."""
    document = plain_daemon_set(told)
    left = len(document["groups"]) - MAX_ROWS
    document["groups"] = [
        {**group, "count": len(group["nodes"]), "nodes": group["nodes"][:MAX_NAMES], "pods": group["pods"][:MAX_NAMES]}
        for group in document["groups"][:MAX_ROWS]
    ]
    document["deadlines"] = document["deadlines"][:MAX_ROWS]
    return {"explanation": document, "verdict": told.message, "leftOutRows": max(0, left), "done": True}


def settled_pod(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield the parts of `pod` at once, from the settled cluster; of a pod that got a node meanwhile, whom to ask.

    Such a pod is to be asked about before it gets one, so its only part here is `{"ask": "explain"}`.
    """
    name = str(arguments.get("pod")).rpartition("/")[2]
    is_placed = any(line.name == name for line in base.plan.of_state(State.PLACED))
    if is_placed or arguments.get("alone"):
        yield {"ask": "explain", "done": True}
    else:
        yield from pod(base, arguments)


def node(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part: the explanation of the node `node`; with `alone`, no pod is placed before."""
    name, alone = arguments.get("node"), arguments.get("alone", False)
    if not isinstance(name, str) or not name or not isinstance(alone, bool):
        raise BadQuestion('node takes {"node": NAME} and "alone", true or false')
    try:
        explanation = explain_node(base.simulation, base.planner.inventory, name, alone=alone)
    except TargetError as error:
        raise BadQuestion(str(error)) from None
    yield {"explanation": plain_node(explanation), "done": True}


def _matrix(simulation: Simulation, target: Target, explanation: Explanation) -> dict[str, Any]:
    """Return the table: rows with the fewest reasons first, nodes that fit before them."""
    names = _plugins(simulation, target, explanation)
    every = list(simulation.cluster.nodes.slot_of)
    rejection = (explanation.rejection,) if explanation.rejection is not None else ()
    rows: list[dict[str, Any]] = []
    families: list[dict[str, Any]] = []
    fitting = [name for row in explanation.scores for name in row.nodes]
    if fitting:
        rows.append(_row(fitting, (), 0, len(families)))
        families.append(_family(Line(tuple(fitting), ()), ()))
    known = {*fitting, *(name for group in explanation.refused for name in group.nodes)}
    rest = tuple(name for name in every if name not in known)
    if rest and rejection:
        alike = Refused(rest, rejection)
        rows.append(_row(rest, rejection, alike.distance, len(families)))
        families.append(_family(Line(rest, (alike,)), ()))
    lines = families_of(explanation.refused)[:MAX_ROWS]
    family_of = {id(group): number for number, line in enumerate(lines, len(families)) for group in line.alike}
    families += [_family(line, rejection) for line in lines]
    shown = _nearest(lines)
    rows += [
        _row(group.nodes, (*rejection, *group.refusals), group.distance + _objections(rejection), family_of[id(group)])
        for group in explanation.refused
        if id(group) in shown
    ]
    left = [group for group in explanation.refused if id(group) not in shown]
    return {
        "plugins": names,
        "rows": rows,
        "families": families,
        "leftOutRows": len(left),
        "leftOutNodes": sum(len(group.nodes) for group in left),
    }


def _nearest(lines: Sequence[Line]) -> set[int]:
    """Return the identities of the groups that become rows: of every family the nearest, as many as there is room."""
    in_turn = (group for turn in zip_longest(*(line.alike for line in lines)) for group in turn if group is not None)
    return {id(group) for group in islice(in_turn, MAX_ROWS)}


def _objections(refusals: Sequence[Refusal]) -> int:
    return sum(refusal.verdict.objections for refusal in refusals)


def _family(line: Line, rejection: Sequence[Refusal]) -> dict[str, Any]:
    """Return what rows have in common. `ways` of a plugin is the number of different things that it says of them."""
    more = _objections(rejection)
    verdicts_of: dict[str, set[Verdict]] = {}
    for group in line.alike:
        for refusal in (*rejection, *group.refusals):
            verdicts_of.setdefault(refusal.plugin, set()).add(refusal.verdict)
    return {
        "rows": max(len(line.alike), 1),
        "count": len(line.nodes),
        "nodes": list(line.nodes[:MAX_NAMES]),
        "nearest": more + line.nearest if line.alike else 0,
        "furthest": more + line.furthest if line.alike else 0,
        "ways": {plugin: len(verdicts) for plugin, verdicts in verdicts_of.items()},
    }


def _plugins(simulation: Simulation, target: Target, explanation: Explanation) -> list[dict[str, Any]]:
    """Return the filter plugins in the order in which they run; those without anything to check say yes to all."""
    engines = simulation.scheduler.engines
    engine = engines.get(target.pod.pod.spec.schedulerName) or next(iter(engines.values()))
    shape: Shape = simulation.cluster.shape_of(target.record.pod, by_name=True)
    candidates = engine.candidates(shape)
    refusing = {refusal.plugin for group in explanation.refused for refusal in group.refusals}
    if explanation.rejection is not None:
        refusing.add(explanation.rejection.plugin)
    columns = []
    for plugin in engine.profile.filters:
        prepared = candidates.prepared[plugin]
        checks = plugin.name in refusing or (
            prepared.rejection is None and prepared.filters and plugin.filters_now(prepared.want, simulation.cluster)
        )
        # Nominations are no plugin of Kubernetes: they are worth a column only if they are in the way.
        if plugin.name != NominatedPods.name or plugin.name in refusing:
            columns.append({"name": plugin.name, "checks": bool(checks)})
    return columns


def _row(nodes: Sequence[str], refusals: Sequence[Refusal], distance: int, family: int) -> dict[str, Any]:
    return {
        "family": family,
        "nodes": list(nodes[:MAX_NAMES]),
        "count": len(nodes),
        "fits": not refusals,
        "distance": distance,
        "cells": {
            refusal.plugin: {
                "ok": False,
                "code": refusal.verdict.code.value,
                "reasons": list(refusal.verdict.reasons),
                "details": list(refusal.verdict.details),
            }
            for refusal in refusals
        },
    }
