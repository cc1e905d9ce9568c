import pytest

from moorage.model.text.plain_scalar import JsonScalar, NotJson, json_number, resolve_plain


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("Null", None),
        ("y", True),
        ("Yes", True),
        ("ON", True),
        ("n", False),
        ("off", False),
        ("yEs", "yEs"),
        ("12", 12),
        ("+12", 12),
        ("-0", 0),
        ("1_000", 1000),
        ("010", 8),
        ("0o17", 15),
        ("0x1F", 31),
        ("-0b101", -5),
        ("08", 8),  # no octal, but a float, and so eight
        ("1.0", 1),
        ("1e3", 1000),
        (".5", 0.5),
        ("-.5e1", -5),
        ("12e-2", 0.12),
        ("1e400", "1e400"),
        ("18446744073709551615", 18446744073709551615),
        ("99999999999999999999", 100000000000000000000),
        ("2001-12-14", "2001-12-14"),
        ("2001-12-14t21:59:43Z", "2001-12-14t21:59:43Z"),
        ("1.2.3", "1.2.3"),
        ("500m", "500m"),
        (".", "."),
        ("-", "-"),
        ("12:30:45", "12:30:45"),  # base sixty is not YAML to Kubernetes
        ("9" * 5000, "9" * 5000),
    ],
)
def test_plain_scalars_mean_what_kubernetes_reads(text: str, value: JsonScalar) -> None:
    resolved = resolve_plain(text)
    assert resolved == value
    assert type(resolved) is type(value)


@pytest.mark.parametrize(("text", "name"), [(".inf", "+Inf"), ("-.Inf", "-Inf"), (".NaN", "NaN")])
def test_what_json_cannot_say_is_refused(text: str, name: str) -> None:
    with pytest.raises(NotJson, match=name.replace("+", r"\+")):
        resolve_plain(text)


def test_floats_are_printed_as_the_shortest_digits_followed_by_zeros() -> None:
    assert json_number(1.2345678901234568e20) == 123456789012345680000
    assert json_number(1e21) == 1e21
    assert isinstance(json_number(1e21), float)
