"""--select and --ignore."""

from __future__ import annotations

import pytest

from moorage.lint.catalogue import SelectionError, rules, selected_rules

ALL = frozenset(rules())
CEL = frozenset(name for name in rules() if name.startswith("cel-"))


@pytest.mark.parametrize(
    ("select", "ignore", "expected"),
    [
        ([], [], ALL),
        (["rejected"], [], {"rejected", "unreadable"}),
        (["cel-*"], [], CEL | {"unreadable"}),
        (["cel-*, rejected"], [], CEL | {"rejected", "unreadable"}),
        (["cel-*", "rejected"], ["cel-constant"], (CEL - {"cel-constant"}) | {"rejected", "unreadable"}),
        ([], ["cel-*"], ALL - CEL),
        (["rejected"], ["unreadable"], {"rejected"}),
        (["*"], [], ALL),
        ([""], [","], ALL),
    ],
)
def test_selection(select: list[str], ignore: list[str], expected: set[str]) -> None:
    assert selected_rules(select, ignore) == expected


@pytest.mark.parametrize(
    ("pattern", "suggestion"),
    [
        ("cel", "did you mean cel-*?"),
        ("rejectd", "did you mean rejected?"),
        ("cel_constant", "did you mean cel-constant?"),
        ("zzz", ""),
    ],
)
def test_unknown_names(pattern: str, suggestion: str) -> None:
    with pytest.raises(SelectionError) as caught:
        selected_rules([pattern], [])
    assert suggestion in str(caught.value)
    assert repr(pattern) in str(caught.value)
    with pytest.raises(SelectionError):
        selected_rules([], [pattern + "*"] if not suggestion else [pattern])
