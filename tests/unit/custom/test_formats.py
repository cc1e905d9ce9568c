"""Formats of strings accept what the API server of Kubernetes v1.36.4 accepts."""

import pytest

from moorage.custom.formats import format_check, is_known_format

ACCEPTED = {
    "email": ["a@b", "A <a@b.c>", '"q q"@x.y', "a@[1.2.3.4]", "a@b (c)", "g: a@b;", "<a@b>", "é@b"],
    "hostname": ["a", "A-b", "example.london", "☃.net", "x" * 63],
    "ipv4": ["1.2.3.4", "01.02.03.04", "::ffff:1.2.3.4"],
    "ipv6": ["::1", "::ffff:1.2.3.4"],
    "cidr": ["1.2.3.4/8", "1.2.3.4/08", "::1/128"],
    "mac": ["01:23:45:67:89:ab", "01-23-45-67-89-AB", "0123.4567.89ab", "0123456789ab"],
    "uuid4": ["123e4567e89b42d3a456426614174000"],
    "isbn": ["0-306-40615-2", "080442957X", "978-3-16-148410-0"],
    "creditcard": ["4111 1111 1111 1111"],
    "ssn": ["123-45-6789", "123 45 6789"],
    "rgbcolor": ["rgb( 1 , 2 , 3 )"],
    "byte": ["aGVsbG8="],
    "date": ["2020-02-29", "0000-01-01"],
    "date-time": ["2020-01-01t00:00:00z", "2020-01-01T00:00:00,5Z"],
    "duration": ["1h30m", "3 days", "-1s", "10 Minutes"],
    "uri": ["http://[::1]:80/", "/a b", "mailto:x", "*"],
    "k8s-long-name": ["a.b-c"],
    "password": ["", "x"],
}
REFUSED = {
    "email": ["", "a", "a@b,c@d", "g:;", ".a@b", "a..b@c", "a b@c", "a@[IPv6:::1]"],
    "hostname": ["", "a.b.c", "-a", "a_b", "1.2.3.4", "x" * 64],
    "ipv4": ["::1", "1.2.3", "256.1.1.1"],
    "ipv6": ["1.2.3.4", "fe80::1%eth0", "::ffff:01.2.3.4"],
    "cidr": ["1.2.3.4", "1.2.3.4/33", "::1/129"],
    "mac": ["01:23", "01-23:45-67-89-ab"],
    "uuid4": ["123e4567-e89b-12d3-a456-426614174000"],
    "isbn": ["123"],
    "creditcard": ["1234"],
    "ssn": ["123456789"],
    "rgbcolor": ["rgb(256,0,0)"],
    "byte": ["", "aGVsbG8", "aGVs bG8="],
    "date": ["2020-02-30", "2020-1-2"],
    "date-time": ["2020-01-01T24:00:00Z", "2020-01-01T00:00:00", "2020-01-01"],
    "duration": ["", "10", "5 parsecs", "10msx", "9999999999999999999s"],
    "uri": ["", "a", ":x", "http://[::1"],
    "k8s-long-name": ["", "A", "a..b"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in ACCEPTED.items() for text in texts])
def test_a_format_accepts(name: str, text: str) -> None:
    check = format_check(name)
    assert check is not None
    assert check(text)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in REFUSED.items() for text in texts])
def test_a_format_refuses(name: str, text: str) -> None:
    check = format_check(name)
    assert check is not None
    assert not check(text)


def test_formats_of_another_type_and_unknown_ones_are_ignored() -> None:
    assert is_known_format("date-time", ("string",))
    assert is_known_format("int32", ("integer",))
    assert is_known_format("date", ("integer", "string"))
    assert not is_known_format("int32", ("string",))
    assert not is_known_format("date", ("integer",))
    assert not is_known_format("date", ("object",))
    assert not is_known_format("colour", ("string",))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("duration", "1" * 2_000_000),
        ("duration", "0x" * 50_000),
        ("ipv4", ":" + "0" * 12_000 + "x."),
        ("cidr", ":" + "0" * 12_000 + "x./1"),
        ("email", "(" * 20_000),
        ("email", "a " * 20_000),
        ("byte", "AAAA" * 50_000 + "!"),
    ],
)
def test_hostile_texts_are_refused_at_once(name: str, text: str) -> None:
    check = format_check(name)
    assert check is not None
    assert not check(text)
