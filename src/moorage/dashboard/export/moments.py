"""Name the moments of a saved page, and mark what the changes of its command line make different.

A plan without changes has one moment. With changes it has the cluster before them and after them; a third, without them
at the same time as after them, is there if the cluster goes on by itself meanwhile: pods are evicted, or Jobs end.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from moorage.dashboard.questions.base import Part
from moorage.plan.difference.comparison import Becomes

Document = dict[str, Any]
BEFORE, WITHOUT, AFTER, PLANNED = "before", "without", "after", "planned"
#: The pod of the plan without the changes is not there any more, or not on this node.
_LEAVES = frozenset(
    {
        *(Becomes.MOVED, Becomes.RESTARTED, Becomes.UPDATED, Becomes.PENDING, Becomes.EVICTED, Becomes.PREEMPTED),
        *(Becomes.LOST, Becomes.FAILED, Becomes.REMOVED, Becomes.FINISHED, Becomes.ELSEWHERE),
    }
)
#: The pod of the plan with the changes is on its node because of them.
_LANDS = frozenset(
    {
        *(Becomes.MOVED, Becomes.RESTARTED, Becomes.UPDATED, Becomes.PLACED, Becomes.NEW, Becomes.ELSEWHERE),
        Becomes.STAYS,
    }
)
_WAITS = frozenset({Becomes.PENDING, Becomes.NEW_PENDING})
#: What changes of nodes write; how full they are follows from their pods.
_OF_NODES = ("labels", "taints", "ready", "schedulable", "version")


class Marks(msgspec.Struct, frozen=True):
    """What differs because of the changes: pods that leave, land or wait, and nodes that are changed, new or gone."""

    leaving: list[str] = []
    landing: dict[str, str] = {}
    pending: list[str] = []
    nodes: list[str] = []


class Moment(msgspec.Struct, frozen=True, omit_defaults=True):
    """A state of the cluster: `title` names it, `words` say in a sentence which one it is.

    `state` has its rows, unless they are those of the page; `answers` come before those of the page.
    """

    id: str
    title: str
    words: str
    summary: Document
    state: Document | None = None
    answers: dict[str, list[Part]] = {}
    marks: Marks | None = None


def planned(summary: Document, until: float | None) -> Moment:
    """Return the moment of a plan without changes; `until` is the time that it shows."""
    words = "as planned" if until is None else f"as planned, {_seconds(until)} from now"
    return Moment(PLANNED, words[0].upper() + words[1:], words, summary)


def before(summary: Document, answers: dict[str, list[Part]], marks: Marks) -> Moment:
    return Moment(BEFORE, "Before the changes", "before the changes", summary, None, answers, marks)


def without(
    summary: Document, state: Document, answers: dict[str, list[Part]], marks: Marks, until: float | None
) -> Moment:
    words = "without the changes, " + ("when nothing more happens" if until is None else f"{_seconds(until)} later")
    return Moment(WITHOUT, "Without the changes", words, summary, _own(state), answers, marks)


def after(summary: Document, state: Document | None, marks: Marks, until: float | None) -> Moment:
    """Return the moment after the changes; its rows are those of the page if no other state is known."""
    if until is None:
        title, words = "After the changes", "after the changes"
    else:
        title = f"{_seconds(until)} after the changes"
        words = f"as of {title}"
    return Moment(AFTER, title, words, summary, _own(state) if state is not None else None, {}, marks)


def _own(state: Document) -> Document:
    """Return what differs between the states of a page: rows, and how much time has passed."""
    return {**{name: state[name] for name in ("nodes", "pods")}, "source": {"elapsed": state["source"]["elapsed"]}}


def _seconds(until: float) -> str:
    return f"{until:,} s"


def left_because(differences: Iterable[Document], nodes: list[str]) -> Marks:
    """Mark the pods of a state without the changes that are not there with them."""
    leaving = [one["pod"] for one in differences if one["becomes"] in _LEAVES and one.get("pod")]
    return Marks(leaving=leaving, nodes=nodes)


def came_because(differences: Iterable[Document], nodes: list[str]) -> Marks:
    """Mark the pods of the state after the changes that are there, wait, or have to leave because of them."""
    rows = [one for one in differences if one.get("newPod")]
    return Marks(
        [one["newPod"] for one in rows if one["becomes"] == Becomes.EVICTING],
        {one["newPod"]: one["newNode"] for one in rows if one["becomes"] in _LANDS and one.get("newNode")},
        [one["newPod"] for one in rows if one["becomes"] in _WAITS],
        nodes,
    )


def changed_nodes(old: Document, new: Document) -> tuple[list[str], list[str]]:
    """Return the nodes of two states that differ in what changes write, or that the other one lacks."""
    rows = [{row["name"]: [row[name] for name in _OF_NODES] for row in state["nodes"]} for state in (old, new)]
    names = [[name for name, values in one.items() if other.get(name) != values] for one, other in (rows, rows[::-1])]
    return names[0], names[1]
