"""Answer kinds that are posted and never stored: reviews of the user and its permissions, and the old form of binding.

Every authenticated user may do everything, and the answers say so. Kubernetes: SelfSubjectReview,
SelfSubjectAccessReview, SelfSubjectRulesReview.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from moorage.model.api_error import bad_request
from moorage.serve.api import Api
from moorage.serve.pki.authentication import User
from moorage.serve.resources.routes import Target
from moorage.serve.verbs.pods import bind

Raw = dict[str, Any]


async def _who_am_i(api: Api, target: Target, raw: Raw, user: User) -> Raw:
    info: Raw = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        info["uid"] = user.uid
    if user.extra:
        info["extra"] = {name: list(values) for name, values in user.extra.items()}
    return _answer(target, {"creationTimestamp": api.now_text()}, {"status": {"userInfo": info}})


async def _may_i(api: Api, target: Target, raw: Raw, user: User) -> Raw:
    spec = raw.get("spec")
    if not isinstance(spec, dict) or not ("resourceAttributes" in spec or "nonResourceAttributes" in spec):
        raise bad_request("spec.resourceAttributes or spec.nonResourceAttributes must be given")
    status = {"allowed": True, "reason": "Moorage lets everyone whom it knows do everything"}
    return _answer(target, {"creationTimestamp": None}, {"spec": spec, "status": status})


async def _what_may_i(api: Api, target: Target, raw: Raw, user: User) -> Raw:
    spec = raw.get("spec")
    if not isinstance(spec, dict) or not spec.get("namespace"):
        raise bad_request("no namespace on request")
    everything = ["*"]
    status = {
        "resourceRules": [{"verbs": everything, "apiGroups": everything, "resources": everything}],
        "nonResourceRules": [{"verbs": everything, "nonResourceURLs": everything}],
        "incomplete": False,
    }
    return _answer(target, {"creationTimestamp": None}, {"spec": {}, "status": status})


async def _bind(api: Api, target: Target, raw: Raw, user: User) -> Raw:
    metadata = raw.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        raise bad_request("metadata.name must be the name of the pod to bind")
    await bind(api, target.namespace, name, raw)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _answer(target: Target, metadata: Raw, rest: Raw) -> Raw:
    kind = target.kind
    return {"kind": kind.name, "apiVersion": kind.api_version, "metadata": metadata, **rest}


VIRTUAL: dict[str, Callable[[Api, Target, Raw, User], Awaitable[Raw]]] = {
    "SelfSubjectReview": _who_am_i,
    "SelfSubjectAccessReview": _may_i,
    "SelfSubjectRulesReview": _what_may_i,
    "Binding": _bind,
}
