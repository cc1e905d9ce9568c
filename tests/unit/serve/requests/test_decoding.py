"""Bodies in every format: what they say, what is odd about them, and what is none."""

from typing import Any

import pytest

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.serve.requests.decoding import check_kind, decode_body, decode_object
from moorage.serve.requests.options import IGNORE, STRICT, WARN

JSON, YAML = "application/json", "application/yaml"

WHOLE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
READ: list[tuple[bytes, str, dict[str, Any]]] = [
    (b'{"metadata":{"name":"x"}}', JSON, WHOLE),
    (b'{"metadata":{"name":"x"}}', "", WHOLE),
    (b'{"metadata":{"name":"x"}}', "application/json; charset=utf-8", WHOLE),
    (b'{"metadata":{"name":"x"}}', "application/merge-patch+json", WHOLE),
    (b'{"kind":"","apiVersion":null,"metadata":{"name":"x"}}', JSON, WHOLE),
    (b"metadata: {name: x}\n", YAML, WHOLE),
    (b"---\nmetadata: {name: x}\n---\n", "text/yaml", WHOLE),
    (b"metadata: {name: x}\n---\nnull\n", YAML, WHOLE),
    (b'{"metadata":{"name":"x"}}', YAML, WHOLE),
    (b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", YAML, WHOLE),
    (b"{}", JSON, {**WHOLE, "metadata": {}}),
]


@pytest.mark.parametrize(("body", "content_type", "wanted"), READ)
def test_what_a_body_says(body: bytes, content_type: str, wanted: dict[str, Any]) -> None:
    assert decode_object(body, content_type, KINDS.CONFIG_MAP, WARN) == (wanted, [])


OTHER_KIND = 'Pod in version "v1" cannot be handled as a ConfigMap: the path names another kind'
REFUSED: list[tuple[bytes, str, int, str]] = [
    (b"{}", "text/plain", 415, "the body of the request was in an unknown format"),
    (b"", JSON, 400, "the object provided is unrecognized"),
    (b"[]", JSON, 400, "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind"),
    (b"- 1\n", YAML, 400, "the object provided is unrecognized: it is not an object"),
    (b"{" * 500, JSON, 400, "the object provided is unrecognized"),
    (
        b'{"a":' * 300 + b"1" + b"}" * 300,
        JSON,
        400,
        "the object provided is unrecognized: the document would be nested",
    ),
    (b"a: 1\n---\nb: 1\n", YAML, 400, "the body must be one document, not 2"),
    (b"# nothing\n", YAML, 400, "the body must be one document, not 0"),
    (b"a: [\n", YAML, 400, "error converting YAML to JSON: "),
    (b'{"kind":"Pod","apiVersion":"v1"}', JSON, 400, OTHER_KIND),
    (
        b"kind: ConfigMapList\nitems: [{}]\n",
        YAML,
        400,
        'ConfigMapList in version "v1" cannot be handled as a ConfigMap',
    ),
    (
        b'{"apiVersion":"v2"}',
        JSON,
        400,
        "the API version in the data (v2) does not match the expected API version (v1)",
    ),
    (b'{"metadata":[]}', JSON, 400, 'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot'),
]


@pytest.mark.parametrize(("body", "content_type", "code", "said"), REFUSED)
def test_what_is_no_such_object(body: bytes, content_type: str, code: int, said: str) -> None:
    with pytest.raises(ApiError) as refusal:
        decode_object(body, content_type, KINDS.CONFIG_MAP, IGNORE)
    assert refusal.value.code == code
    assert refusal.value.message.startswith(said)


ODD_JSON = b'{"metadata":{"name":"x","odd":1},"data":{"a":"1","a":"2"}}'
ODD_YAML = b'metadata: {name: x, odd: 1}\ndata:\n  a: "1"\n  a: "2"\n'
ODD_POD = b'{"metadata":{"name":"x","odd":1},"spec":{"nodeName":"1","nodeName":"2"}}'
ODD = [
    (ODD_JSON, JSON, "ConfigMap", 'duplicate field "data.a"'),
    (ODD_YAML, YAML, "ConfigMap", 'duplicate field "data.a"'),
    (ODD_POD, JSON, "Pod", 'duplicate field "spec.nodeName"'),
]


@pytest.mark.parametrize(("body", "content_type", "kind", "twice"), ODD)
def test_fields_that_are_odd(body: bytes, content_type: str, kind: str, twice: str) -> None:
    facts = KINDS["v1", kind]
    said = ['unknown field "metadata.odd"', twice]
    assert decode_object(body, content_type, facts, WARN)[1] == said
    assert decode_object(body, content_type, facts, IGNORE)[1] == []
    with pytest.raises(ApiError) as refusal:
        decode_object(body, content_type, facts, STRICT)
    prefix = f'{kind} in version "v1" cannot be handled as a {kind}: strict decoding error: '
    assert (refusal.value.code, refusal.value.message) == (400, prefix + ", ".join(said))


def test_the_last_of_two_counts() -> None:
    assert decode_body(ODD_JSON, JSON, KINDS.CONFIG_MAP)[0]["data"] == {"a": "2"}
    assert decode_body(ODD_YAML, YAML, KINDS.CONFIG_MAP)[0]["data"] == {"a": "2"}


def test_a_kind_of_a_group() -> None:
    with pytest.raises(ApiError, match=r"\(apps/v2\) does not match the expected API version \(apps/v1\)"):
        check_kind({"apiVersion": "apps/v2"}, KINDS.DEPLOYMENT)
