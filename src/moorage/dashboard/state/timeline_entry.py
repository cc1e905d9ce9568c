"""Hold one line of the timeline: of a plan's story, or of what Events and timestamps say of the time before."""

from typing import NamedTuple


class TimelineEntry(NamedTuple):
    """What happened when to which object. `actor` is the component or user that did it."""

    time: float
    kind: str
    subject: str
    workload: str
    detail: str
    actor: str
