"""Explain one pod: every plugin's answer for every node, scores, preemption, and what would help, ready to be tried.

`explanation` is what `moorage explain -o json` prints. `matrix` has the same refusals as a table, nodes × filter
plugins, with nodes of which all plugins say the same in one row, and rows that differ by values only in one family, as
the command's lines; `remedies` has for each suggestion what to do.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import Any

from moorage.columns.shape import Shape
from moorage.dashboard.actions.remedies import remedy_of
from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.plan.explain.explanation import Explanation, explain_pod, plain
from moorage.plan.explain.groups import Line, Refused, merged
from moorage.plan.explain.remedies.change import Change
from moorage.plan.explain.target import Target, TargetError, find_target
from moorage.plan.explain.text import verdict
from moorage.plan.report.plain import as_data
from moorage.plan.report.reasons import shortened
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.diagnosis import Refusal
from moorage.schedule.framework.plugin import Verdict
from moorage.schedule.preemption.nominations import NominatedPods

MAX_ROWS = 500
MAX_NAMES = 200


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part about the pod `pod`; with `node`, that node in full; with `alone`, no other is placed before."""
    pod, node, alone = arguments.get("pod"), arguments.get("node") or "", arguments.get("alone", False)
    if not isinstance(pod, str) or not pod or not isinstance(node, str) or not isinstance(alone, bool):
        raise BadQuestion('explain takes {"pod": "NAMESPACE/NAME" or "deployment/NAMESPACE/NAME"}, "node" and "alone"')
    simulation, inventory = base.simulation, base.planner.inventory
    try:
        target = find_target(simulation, inventory, pod, alone=alone)
        told = explain_pod(simulation, inventory, target, node)
    except TargetError as error:
        raise BadQuestion(str(error)) from None

    def remedy(*changes: Change) -> dict[str, Any]:
        made: dict[str, Any] = as_data(remedy_of(changes, target.pod, target.record.pod, simulation, inventory))
        return made

    yield {
        "explanation": plain(told),
        "verdict": verdict(told),
        "short": shortened(told.message),
        "matrix": _matrix(simulation, target, told),
        "remedies": [remedy(one.change) for one in told.suggestions],
        "togetherRemedy": remedy(*told.together.changes) if told.together is not None else None,
        "done": True,
    }


def _matrix(simulation: Simulation, target: Target, told: Explanation) -> dict[str, Any]:
    """Return the table: rows with the fewest reasons first, nodes that fit before them."""
    names = _plugins(simulation, target, told)
    every = list(simulation.cluster.nodes.slot_of)
    rejection = (told.rejection,) if told.rejection is not None else ()
    rows: list[dict[str, Any]] = []
    families: list[dict[str, Any]] = []
    fitting = [name for row in told.rows for name in row.nodes]
    if fitting:
        rows.append(_row(fitting, (), 0, len(families)))
        families.append(_family(Line(tuple(fitting), ()), ()))
    known = {*fitting, *(name for group in told.groups for name in group.nodes)}
    rest = tuple(name for name in every if name not in known)
    if rest and rejection:
        alike = Refused(rest, rejection)
        rows.append(_row(rest, rejection, alike.distance, len(families)))
        families.append(_family(Line(rest, (alike,)), ()))
    lines = merged(told.groups)
    family_of = {id(group): number for number, line in enumerate(lines, len(families)) for group in line.alike}
    families += [_family(line, rejection) for line in lines]
    shown = _nearest(lines)
    rows += [
        _row(group.nodes, (*rejection, *group.refusals), group.distance + _objections(rejection), family_of[id(group)])
        for group in told.groups
        if id(group) in shown
    ]
    left = [group for group in told.groups if id(group) not in shown]
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
    return sum(one.verdict.objections for one in refusals)


def _family(line: Line, rejection: Sequence[Refusal]) -> dict[str, Any]:
    """Return what rows have in common. `ways` of a plugin is the number of different things that it says of them."""
    more = _objections(rejection)
    said: dict[str, set[Verdict]] = {}
    for group in line.alike:
        for one in (*rejection, *group.refusals):
            said.setdefault(one.plugin, set()).add(one.verdict)
    return {
        "rows": max(len(line.alike), 1),
        "count": len(line.nodes),
        "nodes": list(line.nodes[:MAX_NAMES]),
        "nearest": more + line.nearest if line.alike else 0,
        "furthest": more + line.furthest if line.alike else 0,
        "ways": {plugin: len(verdicts) for plugin, verdicts in said.items()},
    }


def _plugins(simulation: Simulation, target: Target, told: Explanation) -> list[dict[str, Any]]:
    """Return the filter plugins in the order in which they run; those without anything to check say yes to all."""
    engines = simulation.scheduler.engines
    engine = engines.get(target.pod.pod.spec.schedulerName) or next(iter(engines.values()))
    shape: Shape = simulation.cluster.shape_of(target.record.pod, by_name=True)
    candidates = engine.candidates(shape)
    refusing = {one.plugin for group in told.groups for one in group.refusals}
    if told.rejection is not None:
        refusing.add(told.rejection.plugin)
    made = []
    for plugin in engine.profile.filters:
        prepared = candidates.prepared[plugin]
        checks = plugin.name in refusing or (
            prepared.rejection is None and prepared.filters and plugin.filters_now(prepared.want, simulation.cluster)
        )
        # Nominations are no plugin of Kubernetes: they are worth a column only if they are in the way.
        if plugin.name != NominatedPods.name or plugin.name in refusing:
            made.append({"name": plugin.name, "checks": bool(checks)})
    return made


def _row(nodes: Sequence[str], refusals: Sequence[Refusal], distance: int, family: int) -> dict[str, Any]:
    return {
        "family": family,
        "nodes": list(nodes[:MAX_NAMES]),
        "count": len(nodes),
        "fits": not refusals,
        "distance": distance,
        "cells": {
            one.plugin: {
                "ok": False,
                "code": one.verdict.code.value,
                "reasons": list(one.verdict.reasons),
                "details": list(one.verdict.details),
            }
            for one in refusals
        },
    }
