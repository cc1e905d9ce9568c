from moorage.model.text.remembering import LONGEST, remember_short


def test_answers_to_short_texts_are_remembered_and_long_ones_are_not_kept() -> None:
    calls: list[int] = []

    @remember_short(8)
    def read(text: str | None, more: str = "") -> int:
        calls.append(len(text or ""))
        return len(text or "") + len(more)

    assert [read("a"), read("a"), read(None), read(None), read("a", "b")] == [1, 1, 0, 0, 2]
    assert calls == [1, 0, 1]
    long = "x" * (LONGEST + 1)
    assert [read(long), read(long)] == [len(long)] * 2
    assert calls[3:] == [len(long)] * 2
