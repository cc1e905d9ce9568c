"""Bytes in documents: what Go's decoder takes, and where it stops."""

import base64
import re

import pytest

from moorage.model.go.pem_blocks import BASE64_PATTERN, base64_complaint, decode_base64


@pytest.mark.parametrize("text", ["", "YQ==", "YWI=", "YWJj", "YW\nJj\r\n", "YQ\n=\n=\n", "\nYWJj", "YR==", "YWJjZA=="])
def test_base64(text: str) -> None:
    assert base64_complaint(text) is None
    assert re.search(BASE64_PATTERN, text)
    assert decode_base64(text) == base64.b64decode(text)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("a", 0),
        ("ab", 0),
        ("abc", 0),
        ("abcd e", 4),
        ("foo!", 3),
        ("=", 0),
        ("a===", 1),
        ("ab=", 3),
        ("ab=c", 2),
        ("ab==c", 4),
        ("abc=d", 4),
        ("YWJj\nYW", 5),
        ("YQ==\n=", 5),
        ("äbcd", 0),
        ("YWJjä", 4),
    ],
)
def test_invalid_base64_is_refused(text: str, at: int) -> None:
    assert base64_complaint(text) == f"illegal base64 data at input byte {at}"
    assert not re.search(BASE64_PATTERN, text)


def test_a_long_text_that_fails_at_its_end_costs_its_length() -> None:
    assert not re.search(BASE64_PATTERN, "YWJj\n" * 200_000 + "!")
