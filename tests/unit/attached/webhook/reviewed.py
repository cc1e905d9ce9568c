"""AdmissionReviews of the webhook as an API server sends them, and what their answers make of the object."""

import base64
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import msgspec

from moorage.attached.webhook.reviews import Decide, answer_review, read_review
from moorage.model.patch.json_patch import apply_operations

Raw = dict[str, Any]


def review(document: Raw | None, old: Raw | None = None, subresource: str = "", **fields: Any) -> Raw:
    about = document or old or {}
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "", "version": "v1", "kind": about.get("kind", "")},
        "resource": {"group": "", "version": "v1", "resource": "things"},
        "subResource": subresource,
        "name": (about.get("metadata") or {}).get("name", ""),
        "operation": "CREATE" if old is None else "UPDATE",
        "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
        "object": document,
        "oldObject": old,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        **fields,
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def response_to(document: Raw, decide: Decide) -> Raw:
    """Return the response to a review."""
    answer = msgspec.json.decode(answer_review(read_review(msgspec.json.encode(document)), decide).body)
    assert answer["response"]["uid"] == document["request"]["uid"]
    response: Raw = answer["response"]
    return response


def patch_of(response: Raw) -> list[Raw]:
    patch: list[Raw] = msgspec.json.decode(base64.b64decode(response["patch"])) if "patch" in response else []
    return patch


def stored(document: Raw, old: Raw | None, subresource: str, decide: Decide, groups: Sequence[str] = ()) -> Raw:
    """Return what the API server stores after it has asked, for somebody in these groups."""
    user = {"username": "jane", "groups": [*groups, "system:authenticated"]}
    response = response_to(review(document, old, subresource, userInfo=user), decide)
    assert response["allowed"], response
    return apply_operations(deepcopy(document), patch_of(response))
