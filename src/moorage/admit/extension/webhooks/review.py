"""Make the AdmissionReview that a webhook is sent about a request.

Kubernetes: plugin/webhook/request.
"""

from typing import NamedTuple

from moorage.admit.extension.attributes import Attributes, ObjectKind, ObjectResource, UserInfo
from moorage.admit.extension.matching.matcher import Matched, Versioned
from moorage.admit.extension.webhooks.failures import CallFailed
from moorage.admit.raw import Raw

GROUP = "admission.k8s.io"
KIND = "AdmissionReview"
V1, V1BETA1 = "v1", "v1beta1"


class Review(NamedTuple):
    """A review to be sent, in a version of AdmissionReview that the webhook knows."""

    uid: str
    version: str
    document: Raw


def make_review(
    uid: str, versions: tuple[str, ...], attributes: Attributes, matched: Matched, objects: Versioned
) -> Review:
    """Return a review in the first version that is known here. Raises CallFailed if none is."""
    version = next((version for version in versions if version in (V1, V1BETA1)), None)
    if version is None:
        why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
        raise CallFailed(f"could not create admission objects: {why}", 400)
    request = _request(uid, attributes, matched, objects)
    return Review(uid, version, {"kind": KIND, "apiVersion": f"{GROUP}/{version}", "request": request})


def _request(uid: str, attributes: Attributes, matched: Matched, objects: Versioned) -> Raw:
    subresource = attributes.subresource
    request: Raw = {"uid": uid, "kind": _kind(matched.kind), "resource": _resource(matched.resource)}
    if subresource:
        request["subResource"] = subresource
    request["requestKind"] = _kind(attributes.kind)
    request["requestResource"] = _resource(attributes.resource)
    if subresource:
        request["requestSubResource"] = subresource
    if attributes.name:
        request["name"] = attributes.name
    if attributes.namespace:
        request["namespace"] = attributes.namespace
    request["operation"] = attributes.operation
    request["userInfo"] = _user(attributes.user)
    request["object"], request["oldObject"] = objects.object, objects.old
    request["dryRun"] = attributes.dry_run
    request["options"] = attributes.options
    return request


def _kind(kind: ObjectKind) -> Raw:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: ObjectResource) -> Raw:
    return {"group": resource.group, "version": resource.version, "resource": resource.resource}


def _user(user: UserInfo) -> Raw:
    fields: Raw = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {name: list(values) for name, values in user.extra.items()},
    }
    return {name: value for name, value in fields.items() if value}
