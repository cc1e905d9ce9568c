"""Where in the life of a pod a plugin may be asked, by the names that configuration files use.

Kubernetes: the fields of `Plugins` in kubescheduler.config.k8s.io/v1 and the interfaces of its scheduling framework,
which its messages name.
"""

from enum import StrEnum


class Point(StrEnum):
    """One extension point; `multiPoint`, which stands for all that a plugin has, is none."""

    PRE_ENQUEUE = "preEnqueue"
    QUEUE_SORT = "queueSort"
    PRE_FILTER = "preFilter"
    FILTER = "filter"
    POST_FILTER = "postFilter"
    PRE_SCORE = "preScore"
    SCORE = "score"
    RESERVE = "reserve"
    PERMIT = "permit"
    PRE_BIND = "preBind"
    BIND = "bind"
    POST_BIND = "postBind"
    PLACEMENT_GENERATE = "placementGenerate"
    PLACEMENT_SCORE = "placementScore"

    @property
    def interface(self) -> str:
        """What Kubernetes calls a plugin of this point: `PreFilterPlugin`."""
        return f"{self.value[0].upper()}{self.value[1:]}Plugin"
