"""Answers about names are remembered, but not about long ones."""

from moorage.admit.metadata import remember


def test_a_rule_is_asked_once() -> None:
    asked: list[str] = []

    def rule(name: str) -> list[str]:
        asked.append(name[:5])
        return [] if name == "good" else ["bad"]

    check = remember(rule)
    assert [list(check(name)) for name in ("good", "other", "good", "other")] == [[], ["bad"], [], ["bad"]]
    assert asked == ["good", "other"]


def test_long_names_are_not_kept() -> None:
    asked: list[int] = []

    def rule(name: str) -> list[str]:
        asked.append(len(name))
        return []

    check = remember(rule)
    for length in (256, 256, 257, 257):
        check("x" * length)
    assert asked == [256, 257, 257]
