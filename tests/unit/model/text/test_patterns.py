import pytest

from moorage.model.text.patterns import Pattern, anywhere, whole


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("[a-z]+", "abc", True),
        ("[a-z]+", "abc\n", False),
        ("a|b", "ab", False),
        (r"\d", "٣", False),  # classes are ASCII, as in Go
        (".", "é", True),
        (".", "\ud800", True),  # half of a pair counts as U+FFFD
        ("[^a]", "\udc80", True),
        ("", "", True),
    ],
)
def test_whole_matches_from_beginning_to_end(pattern: str, text: str, fits: bool) -> None:
    assert whole(pattern)(text) is fits


def test_anywhere_matches_a_part() -> None:
    assert anywhere("b+c$")("abbc")
    assert not anywhere("b+c$")("abbcd")


def test_a_pattern_that_re2_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot compile"):
        whole(r"(?<!a)b")


def test_groups_and_places_are_those_of_the_text() -> None:
    match = Pattern("(?P<first>é+)(x)?(b)").search("aéé" + "b")
    assert match is not None
    assert (match["first"], match[2], match[3], match.get(2), match.has(2)) == ("éé", "", "b", None, False)
    assert (match.start(), match.end(), match.start(3), match.groups()) == (1, 4, 3, ("éé", "", "b"))


def test_finditer_goes_on_behind_each_match() -> None:
    assert Pattern("é|b*").findall("bbéab") == ["bb", "é", "", "b", ""]
    assert Pattern(rb"[0-9]+").findall(b"1,22") == [b"1", b"22"]


def test_sub_replaces_what_matches() -> None:
    assert Pattern(r"\\.").sub(lambda match: match[0][1:].upper(), r"é\nx\t") == "éNxT"


def test_match_at_a_place_in_bytes() -> None:
    match = Pattern(rb"[0-9]*").match_at(b"a12b", 1)
    assert match is not None
    assert match.end() == 3
