"""Go's words for text that is not JSON, as the API server of Kubernetes v1.36.4 says them."""

import json
import random

import pytest

from moorage.model.go.json_syntax import json_complaint

END = "unexpected end of JSON input"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", END),
        ("{", END),
        ('{"a":[1,', END),
        ('"open', END),
        ("{bad", "invalid character 'b' looking for beginning of object key string"),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        ('{"a" "x"}', "invalid character '\"' after object key"),
        ('{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ('{"a":tru}', "invalid character '}' in literal true (expecting 'e')"),
        ("nul", "invalid character ' ' in literal null (expecting 'l')"),
        ('{"a":01}', "invalid character '1' after object key:value pair"),
        ('{"a":1.}', "invalid character '}' after decimal point in numeric literal"),
        ('{"a":-}', "invalid character '}' in numeric literal"),
        ('{"a":1e}', "invalid character '}' in exponent of numeric literal"),
        ('{"a":"\\x"}', "invalid character 'x' in string escape code"),
        ('{"a":"\\u12"}', "invalid character '\"' in \\u hexadecimal character escape"),
        ('{"a":"\t"}', "invalid character '\\t' in string literal"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("'", "invalid character '\\'' looking for beginning of value"),
        ('{"a":[{"b":-1.5e+3},"\\u00e9",true,null,{},[]]}  ', ""),
    ],
)
def test_the_complaint_is_gos(text: str, said: str) -> None:
    assert json_complaint(text.encode()) == said


def test_text_is_refused_where_python_refuses_it() -> None:
    chance = random.Random(0)
    whole = '{"a":[1,-2.5e3,{"b":"x\\n"}],"c":true,"d":null}'
    for _ in range(2000):
        at = chance.randrange(len(whole))
        text = whole[:at] + chance.choice('{}[]",:0 1.e-tn\\') + whole[at + chance.randrange(3) :]
        try:
            json.loads(text)
        except ValueError:
            assert json_complaint(text.encode())
        else:
            assert not json_complaint(text.encode())
