"""Take the values out of sentences that say why a node is refused: what is left is equal for equal reasons.

Values are those of a taint or label of the node, amounts, and counts; keys, operators, thresholds of the pod and ports
stay. A value that is not recognized stays, too: then nodes are told apart, and no reason is hidden.
"""

import re
from functools import lru_cache

_TEXT = r'"(?:[^"\\]|\\.)*"'
_VALUES = (
    # {key: value} of the event, label key=value, in key=value
    (re.compile(r"\{([^:{}]*): [^{}]*\}"), r"{\1}"),
    (re.compile(rf"\b(taint|label|in) ([^\s=]+)=({_TEXT}|[^\s,:;)]*)"), r"\1 \2="),
    # value < 5 is false: the node's side is on the left; amounts have it on the right
    (re.compile(rf"(^|[:;,] )(?:{_TEXT}|\S+) (==?|!=|<|>|in|notin) (\S+) is false"), r"\1\2 \3 is false"),
    (re.compile(r"(?:\S+ [+-] )*\S+ <= \S+ is false"), "<= is false"),
    (re.compile(r"\(allocatable \S+, requested \S+\)"), ""),
    (re.compile(rf"taint value {_TEXT}"), "taint value"),
    (re.compile(r"\b\d+ attached \+"), "attached"),
    (re.compile(r"\b\d+ of (?:at most )?\d+\b"), "of"),
    (re.compile(r"\b\d+ pods run here, of at most \d+"), "pods run here"),
    (re.compile(r"\b\d+ pods? in "), "pods in "),
    (re.compile(r" is in use by .*"), " is in use"),
)


@lru_cache(maxsize=4096)
def without_values(text: str) -> str:
    """Return a reason without the values of the node."""
    for pattern, shape in _VALUES:
        text = pattern.sub(shape, text)
    return text
