"""What plugins can say before they look at any node: that there is no hope, or that only some nodes matter.

In: what each plugin prepared, in run order. Out: one `PreFilterResult` for the shape. Kubernetes: RunPreFilterPlugins.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from moorage.schedule.framework.plugin import Plugin, Prepared
from moorage.schedule.framework.verdict import Code, Verdict, unresolvable


class PreFilterResult(msgspec.Struct, frozen=True):
    """The nodes that are left by name (None: all), who narrowed them, sorted, and who rejects all of them, if so."""

    rejection: tuple[Plugin[Any], Verdict] | None = None
    only_nodes: frozenset[str] | None = None
    narrowed_by: tuple[str, ...] = ()


def combine_prepared(prepared: Iterable[tuple[Plugin[Any], Prepared]]) -> PreFilterResult:
    """A final rejection ends it; of others, which preemption may cure, the last one is reported."""
    rejection: tuple[Plugin[Any], Verdict] | None = None
    only_nodes: frozenset[str] | None = None
    narrowed_by: list[str] = []
    for plugin, made in prepared:
        if made.rejection is not None:
            rejection = plugin, made.rejection
            if made.rejection.code is Code.UNRESOLVABLE:
                return PreFilterResult(rejection)
        elif made.only_nodes is not None:
            narrowed_by = sorted([*narrowed_by, plugin.name])
            only_nodes = made.only_nodes if only_nodes is None else only_nodes & made.only_nodes
            if not only_nodes:
                return PreFilterResult((plugin, unresolvable(_nothing_left(narrowed_by))), only_nodes, (*narrowed_by,))
    return PreFilterResult(rejection, only_nodes, (*narrowed_by,))


def _nothing_left(plugins: list[str]) -> str:
    if len(plugins) == 1:
        return f"node(s) didn't satisfy plugin {plugins[0]}"
    return f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}] simultaneously"
