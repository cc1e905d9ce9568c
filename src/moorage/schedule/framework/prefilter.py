"""Combine what plugins say of a pod before any node is looked at: a rejection, or the only nodes to consider."""

from collections.abc import Iterable
from typing import Any

import msgspec

from moorage.schedule.framework.plugin import Code, Plugin, Prepared, Verdict, unresolvable


class PreFilterResult(msgspec.Struct, frozen=True):
    """What plugins say before any node is looked at: a rejection of the pod, or the only nodes to consider, by name."""

    rejection: tuple[Plugin[Any], Verdict] | None = None
    only_nodes: frozenset[str] | None = None
    narrowed_by: tuple[str, ...] = ()


def combine_prepared(prepared: Iterable[tuple[Plugin[Any], Prepared]]) -> PreFilterResult:
    """Combine the plugins' results, in run order. Kubernetes: RunPreFilterPlugins.

    A final rejection ends it; of others, which preemption may cure, the last one is reported.
    """
    rejection: tuple[Plugin[Any], Verdict] | None = None
    only_nodes: frozenset[str] | None = None
    narrowed_by: list[str] = []
    for plugin, preparation in prepared:
        if preparation.rejection is not None:
            rejection = plugin, preparation.rejection
            if preparation.rejection.code is Code.UNRESOLVABLE:
                return PreFilterResult(rejection)
        elif preparation.only_nodes is not None:
            narrowed_by = sorted([*narrowed_by, plugin.name])
            only_nodes = preparation.only_nodes if only_nodes is None else only_nodes & preparation.only_nodes
            if not only_nodes:
                return PreFilterResult((plugin, unresolvable(_nothing_left(narrowed_by))), only_nodes, (*narrowed_by,))
    return PreFilterResult(rejection, only_nodes, (*narrowed_by,))


def _nothing_left(plugins: list[str]) -> str:
    if len(plugins) == 1:
        return f"node(s) didn't satisfy plugin {plugins[0]}"
    return f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}] simultaneously"
