"""Say in words what a story's pattern looks for.

`^web-.* Running .* node-[12] ` is "a pod of web runs on node-1 or node-2".
"""

import re
from itertools import product

from moorage.demo.story import Sight, StoryStep

#: A row of `kubectl get pods -o wide`: a pod, or with `-.*` one of a workload; its phase, and perhaps its node.
_POD = re.compile(
    r"(?:\^(?P<name>[^ *+]+?)(?P<many>-\.\*)?)?(?:(?<!\*) \.\*)? (?P<phase>Running|Pending)"
    r"(?: \.\* (?P<node>[^ *+]+))? ?"
)
_CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)|\[([^\]-]+)\]")
#: What stands for any text: character classes with ranges, groups, escapes such as \w, each perhaps repeated.
_ANY = re.compile(r"\(?\[[^\]]*\][+*]?\)?|\\[wdS1-9][+*]?|\.\*")
_GAP, _OR = "…", " or "
_MAX_CHOICES = 4


def in_words(sight: Sight) -> str:
    """Return what must be seen, or not, in a sentence."""
    pattern, times = sight.pattern.pattern, sight.times
    pod = _POD.fullmatch(pattern)
    if pod is not None:
        return _pods(pod, times)
    said = f'"{_text(pattern)}"'
    if times == 0:
        return f"{said} is not there"
    if times is None:
        return f"it says {said}"
    return f"it says {said} once" if times == 1 else f"it says {said} {times} times"


def expectations(step: StoryStep) -> list[str]:
    """Return all that must come of a command, in sentences."""
    return [*(["the command fails"] if step.fails else []), *map(in_words, step.sights)]


def _pods(pod: re.Match[str], times: int | None) -> str:
    name, node = _text(pod["name"] or ""), _text(pod["node"] or "")
    waits = pod["phase"] == "Pending"
    number = {None: "a", 0: "no", 1: "one"}.get(times, str(times))
    is_plural = times is not None and times > 1
    choices = name.split(_OR)
    if name and not pod["many"] and times in (None, len(choices)):
        subject = name if not is_plural else f"{', '.join(choices[:-1])} and {choices[-1]}"
    else:
        subject = f"{number} pod{'s' if is_plural else ''}{f' of {name}' if name else ''}"
    verb = ("wait" if waits else "run") if is_plural else ("waits" if waits else "runs")
    return f"{subject} {verb}{' for a node' if waits else ''}{f' on {node}' if node else ''}"


def _text(pattern: str) -> str:
    """Return the text that a pattern stands for, with a few choices spelled out and all else as a gap."""
    words = pattern.removeprefix("^").removesuffix("$")
    found = list(_CHOICE.finditer(words))
    options = [match[1].split("|") if match[1] is not None else list(match[2]) for match in found]
    count = 1
    for option in options:
        count *= len(option)
    if found and count <= _MAX_CHOICES:
        template = _CHOICE.sub("\0", words)
        filled = [_fill(template, choice) for choice in product(*options)]
        return _OR.join(_plain(text) for text in filled)
    return _plain(words)


def _fill(template: str, choice: tuple[str, ...]) -> str:
    parts = template.split("\0")
    return parts[0] + "".join(chosen + part for chosen, part in zip(choice, parts[1:], strict=True))


def _plain(pattern: str) -> str:
    text = _ANY.sub(_GAP, re.sub(r" [+*]", " ", pattern))
    text = re.sub(r"\\(.)", r"\1", text.replace("|", _OR))
    return re.sub(rf"\s*{_GAP}(?:\s*{_GAP})*\s*", f" {_GAP} ", text).strip()
