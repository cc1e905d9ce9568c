"""Bodies of answers: what is read of them, and what Kubernetes says of those that cannot be read."""

from typing import Any

import pytest

from moorage.admit.extension.webhooks.failures import CallFailed
from moorage.admit.extension.webhooks.reading import read_review

_FIELDS = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_NO_KIND = "failed to call webhook: couldn't get version/kind; json parse error: "


@pytest.mark.parametrize(
    ("body", "document"),
    [
        (b"{}", {}),
        (b"null", None),
        (b"", None),
        (b' \n{"kind": "AdmissionReview"}\n', {"kind": "AdmissionReview"}),
        (
            b"kind: AdmissionReview\nresponse: {allowed: true}",
            {"kind": "AdmissionReview", "response": {"allowed": True}},
        ),
    ],
)
def test_json_and_yaml_are_read(body: bytes, document: Any) -> None:
    assert read_review(body) == document


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        (b"garbage", f"{_NO_KIND}json: cannot unmarshal string into Go value of type {_FIELDS}"),
        (b"[1]", f"{_NO_KIND}json: cannot unmarshal array into Go value of type {_FIELDS}"),
        (b'{"kind": 5}', f"{_NO_KIND}json: cannot unmarshal number into Go struct field .kind of type string"),
        (b'{"response":', f"{_NO_KIND}unexpected end of JSON input"),
        (b"{}x", f"{_NO_KIND}invalid character 'x' after top-level value"),
        (b"a: b: c", "failed to call webhook: yaml: mapping values are not allowed in this context"),
    ],
)
def test_other_bodies_are_refused_in_the_words_of_go(body: bytes, failure: str) -> None:
    with pytest.raises(CallFailed) as refused:
        read_review(body)
    assert refused.value.reason == failure
    assert refused.value.code == 503


@pytest.mark.parametrize(
    "body", [b'{"a":' * 100_000, b"[" * 100_000, b"[" * 300_000 + b"]" * 300_000, b"\xff\xfe{", b'{"a":"\xff"}', b"*a"]
)
def test_hostile_bodies_are_refused(body: bytes) -> None:
    with pytest.raises(CallFailed):
        read_review(body)


@pytest.mark.parametrize("body", [b'{"a":[' + b"{}," * 250_000 + b"{}]}", b"[" + b"{}," * 250_000 + b"{}]"])
def test_bodies_of_too_many_objects_are_refused_before_they_are_decoded(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[bytes] = []
    monkeypatch.setattr("moorage.admit.extension.webhooks.reading._decode", decoded.append)
    with pytest.raises(CallFailed, match="more than 250000 objects"):
        read_review(body)
    assert decoded == []
