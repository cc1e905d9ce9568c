"""Shorten a FailedScheduling message for people: taints by key, no word about preemption where it cannot help."""

import re

#: What the DynamicResources plugin says before preemption.
_LEAD = r"(?:still not schedulable|deallocation of ResourceClaim completed), "
_SCHEDULING = re.compile(
    r"(?P<head>0/\d+ nodes are available): (?P<why>.*?)\.?"
    rf"(?: (?P<lead>{_LEAD})?preemption: (?P<preemption>.*))?",
    re.S,
)
_PREEMPTION = re.compile(rf" (?:{_LEAD})?preemption: ")
_NEXT_COUNT = re.compile(r", (?=\d+ )")
_COUNTED = re.compile(r"(\d+) (.*)", re.S)
_TAINT = re.compile(r"\{([^{}]*)\}")
_NOT_HELPFUL = "Preemption is not helpful for scheduling"
#: So many distinct taints are told in full.
_MAX_TAINTS = 3


def shortened(message: str) -> str:
    """Return a message of the scheduler with what its reasons have in common said once; others as they are."""
    found = _SCHEDULING.fullmatch(message)
    if found is None:
        return message
    preemption = found["preemption"] or ""
    if all(_NOT_HELPFUL in part for part in _NEXT_COUNT.split(preemption)):
        preemption = ""
    why = ", ".join(_merged(_NEXT_COUNT.split(found["why"])))
    also = f" {found['lead'] or ''}preemption: {preemption}" if preemption else ""
    return f"{found['head']}: {why}.{also}"


def without_preemption(message: str) -> str:
    """Return a message of the scheduler shortened, and without what preemption would do."""
    return _PREEMPTION.split(shortened(message))[0]


def _merged(reasons: list[str]) -> list[str]:
    """Return the reasons, those that differ by a taint only as one; the one with most nodes first."""
    alike: dict[str, list[tuple[int, str]]] = {}
    for text in reasons:
        counted = _COUNTED.fullmatch(text)
        if counted is None:
            return reasons
        number, reason = int(counted[1]), counted[2]
        alike.setdefault(_TAINT.sub("{}", reason), []).append((number, reason))
    lines: list[tuple[int, str]] = []
    for pattern, group in alike.items():
        lines += group if len(group) <= _MAX_TAINTS else [(sum(number for number, _ in group), _by_key(pattern, group))]
    return [f"{number} {reason}" for number, reason in sorted(lines, key=lambda line: -line[0])]


def _by_key(pattern: str, group: list[tuple[int, str]]) -> str:
    """Return one reason for many taints: their keys, the most frequent first."""
    nodes: dict[str, int] = {}
    for number, reason in group:
        taint = _TAINT.search(reason)
        key = taint[1].partition(":")[0] if taint is not None else ""
        nodes[key] = nodes.get(key, 0) + number
    keys = sorted(nodes, key=lambda key: -nodes[key])
    more = f" and {len(keys) - _MAX_TAINTS} more keys" if len(keys) > _MAX_TAINTS + 1 else ""
    shown = keys[:_MAX_TAINTS] if more else keys
    return pattern.replace("taint {}", "taints {}").replace("{}", f"{{{', '.join(shown)}{more}}}")
