"""Queueing hints: which events may help pods that a plugin rejected.

A hint is asked once for all waiting pods of one shape. Shapes that wait for pods with a certain label are filed under
that label and not asked about others. The law: a hint never denies an event that turns its plugin's refusal into an
acceptance. Kubernetes: EnqueueExtensions with their QueueingHintFns, asked for each pod.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec

from moorage.columns.cluster import Cluster
from moorage.columns.pod_classes import Label
from moorage.columns.shape import Shape
from moorage.schedule.framework.events import Event, EventKind

# Given what the plugin wants for the shape, the shape, the event and the cluster: may the plugin now say yes?
Hint = Callable[[Any, Shape, Event, Cluster], bool]


# Given the same but for the event: labels of which a pod must have one for the hint to say yes about it; None if that
# cannot be told. No label at all: the hint never says yes.
Needs = Callable[[Any, Shape, Cluster], tuple[Label, ...] | None]


def any_event(event: Event) -> bool:
    return True


class Requeue(msgspec.Struct, frozen=True):
    """One row of a plugin: events that may undo its refusal; with a hint, only those for which it is true.

    With `needs`, events about pods without the labels it names need not be asked about, if `by_labels` is true of them.
    """

    kinds: frozenset[EventKind]
    hint: Hint | None = None
    needs: Needs | None = None
    by_labels: Callable[[Event], bool] = any_event


def on(
    *kinds: EventKind,
    hint: Hint | None = None,
    needs: Needs | None = None,
    by_labels: Callable[[Event], bool] = any_event,
) -> Requeue:
    return Requeue(frozenset(kinds), hint, needs, by_labels)


class Requeues(Protocol):
    """What has rows: a plugin. None instead of rows: any event may help."""

    @property
    def name(self) -> str: ...

    @property
    def requeue_on(self) -> tuple[Requeue, ...] | None: ...


# No plugin rejects a pod when there are no nodes; this stands for the one that would.
NO_NODES = "NoNodes"
_ON_FIRST_NODE = (on(EventKind.NODE_ADDED),)


class RequeueTable:
    """The rows of all plugins of one profile. `want_of` returns what a plugin wants for a shape."""

    def __init__(
        self, plugins: Iterable[Requeues], cluster: Cluster, want_of: Callable[[str, Shape], tuple[Any] | None]
    ) -> None:
        self._cluster = cluster
        self._want_of = want_of
        rows: dict[str, tuple[Requeue, ...] | None] = {plugin.name: plugin.requeue_on for plugin in plugins}
        rows[NO_NODES] = _ON_FIRST_NODE
        self._rows = {name: None if made is None else _by_kind(made) for name, made in rows.items()}
        # What is filed by labels: plugins that have one row for a kind of events, and that row has needs.
        self._filed: dict[str, dict[EventKind, Requeue]] = {
            name: {kind: one[0] for kind, one in made.items() if len(one) == 1 and one[0].needs is not None}
            for name, made in self._rows.items()
            if made is not None
        }
        self._interested = {
            kind: frozenset(name for name, made in self._rows.items() if made is None or kind in made)
            for kind in EventKind
        }

    def interested(self, kind: EventKind) -> frozenset[str]:
        """Return the plugins that events of a kind may concern."""
        return self._interested[kind]

    def filed_kinds(self, name: str) -> Iterable[EventKind]:
        """Return the kinds of events for which a plugin's rejected shapes may be filed under labels."""
        return self._filed.get(name, ())

    def needs(self, name: str, kind: EventKind, shape: Shape) -> tuple[Label, ...] | None:
        """Return the labels of which a pod must have one to help the shape; None if that is unknown."""
        row, want = self._filed[name][kind], self._want_of(name, shape)
        return None if want is None or row.needs is None else row.needs(want[0], shape, self._cluster)

    def goes_by_labels(self, name: str, event: Event) -> bool:
        """Return whether the event helps only shapes filed under the labels of its pod."""
        row = self._filed.get(name, {}).get(event.kind)
        return row is not None and row.by_labels(event)

    def may_help(self, shape: Shape, rejected_by: frozenset[str], event: Event) -> bool:
        """Return whether one of the plugins that rejected the shape may accept it after the event."""
        if event.kind is EventKind.TIME_IS_UP or event.kind is EventKind.OWN_OTHER:
            return True
        return any(self._helps(name, shape, event) for name in rejected_by)

    def _helps(self, name: str, shape: Shape, event: Event) -> bool:
        made = self._rows.get(name)
        if made is None:  # any event may help, as with an unknown plugin
            return True
        asked = made.get(event.kind)
        if asked is None:
            return False
        want = self._want_of(name, shape)
        if want is None:  # the pod changed, and the plugin has nothing against it any more
            return True
        return any(row.hint is None or row.hint(want[0], shape, event, self._cluster) for row in asked)


def _by_kind(rows: Iterable[Requeue]) -> dict[EventKind, list[Requeue]]:
    table: dict[EventKind, list[Requeue]] = {}
    for row in rows:
        for kind in row.kinds:
            table.setdefault(kind, []).append(row)
    return table
