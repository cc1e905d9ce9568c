"""Decode the body of a webhook's answer: JSON, or the YAML that it may be as well.

Kubernetes: the codecs of the webhook client; the content type does not count. Differs: what is nested too deeply, or
has too many objects in it, is refused.
"""

from typing import Any

import msgspec

from moorage.admit.extension.webhooks.failures import CallFailed
from moorage.model.go.type_meta import syntax_complaint, type_meta_complaint
from moorage.model.patch.patch_error import MAX_CONTAINERS, MAX_LEVELS, PatchError, check_depth, too_many_containers
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import read_values

CALL = "failed to call webhook: "
_decode = msgspec.json.Decoder().decode


def read_review(body: bytes) -> Any:
    """Return the document of an answer. Raises CallFailed, whose reason is the `failure` of a WebhookAnswer."""
    try:
        # Before anything is decoded: a decoder lets nothing else run meanwhile, in whatever thread it is.
        if body.count(b"{") + body.count(b"[") > MAX_CONTAINERS:
            raise too_many_containers()
        document = _decode_json(body) if body.lstrip()[:1] == b"{" else _decode_yaml(body)
        check_depth(document)
    except PatchError as error:
        raise CallFailed(f"{CALL}{error}") from None
    if complaint := type_meta_complaint(document):
        raise CallFailed(f"{CALL}{complaint}")
    return document


def _decode_json(body: bytes) -> Any:
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CallFailed(f"{CALL}{syntax_complaint(body) or error}") from None
    except RecursionError:
        raise CallFailed(f"{CALL}nested more than {MAX_LEVELS} levels deep") from None


def _decode_yaml(body: bytes) -> Any:
    try:
        values = [value.raw for value in read_values(body, "answer")]
    except DecodeError as error:
        raise CallFailed(f"{CALL}yaml: {error.reason.removeprefix('yaml: ')}") from None
    return values[0] if values else None
