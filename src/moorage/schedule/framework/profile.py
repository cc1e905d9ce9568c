"""A scheduler profile: which plugins run, in which order, with which weights.

The order is Kubernetes' own and part of what users see: the first plugin to refuse a node gives the reason that is
counted.
"""

from typing import Any

import msgspec

from moorage.schedule.framework.plugin import Plugin


class Profile(msgspec.Struct, frozen=True):
    """The plugins of one `schedulerName`: filters in run order, scores with their weights.

    `respects_scheduling_gates` is whether the plugin SchedulingGates is there, which the queue asks.
    """

    name: str
    filters: tuple[Plugin[Any], ...]
    scores: tuple[tuple[Plugin[Any], int], ...]
    respects_scheduling_gates: bool = True
