import pytest

from moorage.match.semver import SemverError, Version, parse, parse_tolerant


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("1.2.3", "1.2.3"),
        ("v1.2.3", "1.2.3"),
        (" \t1.2.3\n", "1.2.3"),
        ("\u30001.2.3\u2003", "1.2.3"),
        ("1", "1.0.0"),
        ("1.2", "1.2.0"),
        ("007.08.09", "7.8.9"),
        ("000", "0.0.0"),
        ("1.2.-3", "1.2.0-3"),
        ("1.2.3-rc.1+b.2", "1.2.3-rc.1+b.2"),
        ("1.2.3+a-b", "1.2.3+a-b"),
        ("5.15.0-91-generic", "5.15.0-91-generic"),
        ("18446744073709551615.0.0", "18446744073709551615.0.0"),
    ],
)
def test_tolerant_parsing_prints_the_normal_form(text: str, printed: str) -> None:
    assert str(parse_tolerant(text)) == printed


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("V1.2.3", 'Invalid character(s) found in major number "0V1"'),
        ("vv1", 'Invalid character(s) found in major number "0v1"'),
        ("x", 'Invalid character(s) found in major number "x"'),
        ("é", 'Invalid character(s) found in major number "0é"'),
        ("1.2.3.4", 'Invalid character(s) found in patch number "3.4"'),
        ("1.2-rc1", "Short version cannot contain PreRelease/Build meta data"),
        ("1+b", "Short version cannot contain PreRelease/Build meta data"),
        ("1.2.3-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("1.2.3-", "Prerelease is empty"),
        ("1.2.3-a_b", 'Invalid character(s) found in prerelease "a_b"'),
        ("1.2.3+", "Build meta data is empty"),
        ("1.2.3+a+b", 'Invalid character(s) found in build meta data "a+b"'),
        ("18446744073709551616", 'strconv.ParseUint: parsing "18446744073709551616": value out of range'),
        ("\x1c1.2.3", 'Invalid character(s) found in major number "0\\x1c1"'),
    ],
)
def test_errors_have_the_texts_of_the_real_parser(text: str, error: str) -> None:
    with pytest.raises(SemverError) as caught:
        parse_tolerant(text)
    assert str(caught.value) == error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "Version string empty"),
        ("1.2", "No Major.Minor.Patch elements found"),
        ("v1.2.3", 'Invalid character(s) found in major number "v1"'),
        ("01.2.3", 'Major number must not contain leading zeroes "01"'),
        ("1.02.3", 'Minor number must not contain leading zeroes "02"'),
        ("1.2.03", 'Patch number must not contain leading zeroes "03"'),
    ],
)
def test_strict_parsing_forgives_nothing(text: str, error: str) -> None:
    with pytest.raises(SemverError) as caught:
        parse(text)
    assert str(caught.value) == error


def test_the_chain_of_semver_org() -> None:
    chain = ["1.0.0-0", "1.0.0-9", "1.0.0-10", "1.0.0--", "1.0.0-A", "1.0.0-a", "1.0.0-a.1", "1.0.0-a.b", "1.0.0"]
    versions = [parse(text) for text in chain]
    for i, low in enumerate(versions):
        for j, high in enumerate(versions):
            assert low.compare(high) == (i > j) - (i < j)


def test_build_metadata_does_not_compare_but_is_part_of_the_version() -> None:
    assert parse("1.2.3+a").compare(parse("1.2.3+b")) == 0
    assert parse("1.2.3+a") != parse("1.2.3+b")
    assert parse("1.2.3+a") == Version(1, 2, 3, build=("a",))
