"""Read the priorities of node groups from the ConfigMap of the priority expander.

Kubernetes: Cluster Autoscaler, expander/priority: a map of priorities to lists of regular expressions, which are found
anywhere in the name of a group. Differs: a ConfigMap of which something cannot be read counts as absent.
"""

from collections.abc import Callable, Sequence

from moorage.autoscale.cluster_autoscaler.expanders import Priorities
from moorage.control.framework.world import World
from moorage.model.go.integers import INT32_MAX, INT32_MIN, read_int
from moorage.model.kinds import KINDS
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import read_values
from moorage.model.text.patterns import anywhere
from moorage.model.text.remembering import remember_short

CONFIG_MAP = "kube-system/cluster-autoscaler-priority-expander"
_KEY = "priorities"
_MAX_PATTERNS = 1_000
Rules = tuple[tuple[int, Callable[[str], bool]], ...]


def group_priorities(world: World) -> Priorities | None:
    """Return a function from the name of a group to its priorities; None without a ConfigMap that can be read."""
    found = world.get(KINDS.CONFIG_MAP, CONFIG_MAP)
    text = (found.raw.get("data") or {}).get(_KEY, "") if found is not None else ""
    rules = read_priorities(text) if isinstance(text, str) and text else None
    if not rules:
        return None
    fixed = rules

    def priorities(name: str) -> Sequence[int]:
        return [priority for priority, occurs in fixed if occurs(name)]

    return priorities


@remember_short(16)
def read_priorities(text: str) -> Rules:
    """Return the patterns of a text with their priorities; none if any of it cannot be read."""
    try:
        values = read_values(text.encode(), CONFIG_MAP)
    except DecodeError:
        return ()
    if len(values) != 1 or not isinstance(values[0].raw, dict):
        return ()
    rules: list[tuple[int, Callable[[str], bool]]] = []
    for key, patterns in values[0].raw.items():
        priority = read_int(str(key), INT32_MIN, INT32_MAX)
        if priority is None or not isinstance(patterns, list):
            return ()
        for pattern in patterns:
            if not isinstance(pattern, str) or len(rules) >= _MAX_PATTERNS:
                return ()
            try:
                rules.append((priority, anywhere(pattern)))
            except ValueError:
                return ()
    return tuple(rules)
