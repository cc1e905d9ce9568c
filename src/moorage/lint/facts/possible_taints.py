"""Build a finite list of taints that tells tolerations apart.

Two sets of these tolerations match the same taints exactly if they match the same taints of the list, so "the others
match as much" needs a few dozen taints. A toleration asks whether a value is a given text, or whether its number or
version is in an interval: one value for each cell that the intervals cut the values into stands for all. A taint's
value is a label value: never negative, without `+`, at most 63 bytes.
Kubernetes: validateNodeTaints decides what a node can have.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from moorage.match.comparison import CANONICAL_INTEGER, VERSION, ValueKind
from moorage.match.intervals import Interval, Intervals, cells, exactly
from moorage.match.operators import TOLERATION, accepted_values
from moorage.model.names import label_value_errors
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE

EFFECTS = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
ANY_OTHER_KEY = "moorage.example/any-other-key"


def possible_taints(tolerations: Sequence[Toleration]) -> list[Taint]:
    plain = [toleration for toleration in tolerations if not toleration.expression]
    keys = dict.fromkeys(toleration.key for toleration in plain if toleration.key)
    taints: list[Taint] = []
    for key in keys:
        values = possible_values(
            tuple((t.operator, t.value) for t in plain if t.key == key or (not t.key and t.operator != "Exists"))
        )
        taints += [Taint(key, value, effect) for effect in EFFECTS for value in values]
    if any(not toleration.key for toleration in plain):
        taints += [Taint(ANY_OTHER_KEY, "", effect) for effect in EFFECTS]
    return taints


@lru_cache(maxsize=1024)
def possible_values(wanted: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Return a text for every cell that these (operator, value) pairs cut the label values into."""
    accepted = [found for name, value in wanted if (found := accepted_values(name, TOLERATION, (value,))) is not None]
    exact = dict.fromkeys(text for one in accepted if not one.all_but for text in sorted(one.texts))
    spans: dict[ValueKind, list[Intervals]] = {}
    for one in accepted:
        for kind, span in one.spans:
            spans.setdefault(kind, []).append(span)
    cut = {kind: cells(kind.scale, (*of_kind, *_values_of(kind, exact))) for kind, of_kind in spans.items()}
    if VERSION in cut:
        # A whole number is a version, too: 7 is 7.0.0, on one side of 7.1.0.
        majors = dict.fromkeys(cell.low[0] for cell in cut[VERSION])
        of_numbers = (*spans.get(CANONICAL_INTEGER, ()), *_values_of(CANONICAL_INTEGER, (*exact, *map(str, majors))))
        cut[CANONICAL_INTEGER] = cells(CANONICAL_INTEGER.scale, of_numbers)
    texts = dict.fromkeys(text for text in ("", *exact, _word_outside(exact)) if not label_value_errors(text))
    for kind, of_kind in cut.items():
        texts.update(dict.fromkeys(text for cell in of_kind if (text := _text_in(kind, cell, exact)) is not None))
    return tuple(texts)


def _values_of(kind: ValueKind, texts: Iterable[str]) -> list[Intervals]:
    return [exactly(kind.scale, value) for text in texts if (value := kind.value_of(text)) is not None]


def _word_outside(exact: Iterable[str]) -> str:
    """Return a text that is no number, no version and none of the given ones."""
    taken = set(exact)
    word = "some-word"
    while word in taken:
        word += "-x"
    return word


def _text_in(kind: ValueKind, cell: Interval, exact: Iterable[str]) -> str | None:
    """Return a label value inside the cell that differs from all given texts; None if the cell has no other."""
    for value in filter(cell.contains, kind.scale.candidates(cell)):
        plain = kind.scale.write(value, "")
        # A version has many spellings: 7.0.0, v7.0.0, 07.0.0, 007.0.0, …
        spellings = (plain, f"v{plain}", *(f"{'0' * zeros}{plain}" for zeros in range(1, 2 + len(list(exact)))))
        for text in spellings:
            if text not in exact and kind.value_of(text) == value and not label_value_errors(text):
                return text
    return None
