"""The plugin framework: everything that a plugin, Moorage's own or another package's, imports.

A plugin is a subclass of `Plugin` (or `WidePlugin`) that overrides `explain`, `score_slot` or both.
"""

from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape
from moorage.schedule.framework.events import Event, EventKind, Requeue, on
from moorage.schedule.framework.plugin import (
    MAX_SCORE,
    SKIP,
    Code,
    Mask,
    Normalization,
    Plugin,
    Prepared,
    Scores,
    Verdict,
    check_plugin,
    unresolvable,
    unschedulable,
)
from moorage.schedule.framework.wide import WidePlugin

__all__ = [
    "MAX_SCORE",
    "SKIP",
    "Cluster",
    "Code",
    "Event",
    "EventKind",
    "Mask",
    "Normalization",
    "Plugin",
    "Prepared",
    "Requeue",
    "Scores",
    "Shape",
    "Verdict",
    "WidePlugin",
    "check_plugin",
    "on",
    "unresolvable",
    "unschedulable",
]
