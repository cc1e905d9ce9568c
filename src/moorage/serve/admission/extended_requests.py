"""Describe requests to the policies and webhooks that may be about them: user, options, resource, kind, dry run.

Kubernetes: NewAttributesRecord as the handlers of the verbs call it.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from moorage.admit.chain import Admission
from moorage.admit.extension.attributes import CONNECT, DELETE, Attributes, UserInfo
from moorage.admit.extension.extended_request import ExtendedRequest, request_attributes
from moorage.admit.raw import Raw
from moorage.admit.subresources.deletion import Deletion
from moorage.model.kinds import KINDS, Kind, Ref
from moorage.model.types.request import DeleteOptions
from moorage.serve.apply.entries import read_sent
from moorage.serve.pki.authentication import AUTHENTICATED, MASTERS, User
from moorage.serve.requests.options import Query, WriteOptions
from moorage.serve.verbs.written_metadata import name_owners_once

#: Who asks where no client does: what the API server itself wants.
API_SERVER = User("system:apiserver", groups=(AUTHENTICATED, MASTERS))
_META = "meta.k8s.io/v1"
_INVALID_OWNERS = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
    "admission controller; please fix your requests: {why}"
)


def extended_request(
    admission: Admission,
    operation: str,
    kind: Kind,
    namespace: str,
    name: str,
    subresource: str,
    options: WriteOptions,
) -> ExtendedRequest | None:
    """Return a write as policies and webhooks see it; None if there are none that may be about it."""
    world = admission.extensions
    if world is None or options.is_internal:
        return None
    if not admission.is_extended(operation, kind, subresource, options.version):
        return None
    attributes = request_attributes(operation, kind, subresource, options.version)
    attributes.namespace = name if kind is KINDS.NAMESPACE else namespace
    attributes.name = name
    if operation != CONNECT:
        attributes.options = _document(operation.capitalize() + "Options", options)
    attributes.user, attributes.dry_run = user_info(options.user), options.dry_run
    return ExtendedRequest(attributes, world, _repair)


def extended_deletion(
    admission: Admission, ref: Ref, options: DeleteOptions, asking: WriteOptions
) -> ExtendedRequest | None:
    """Return a deletion as policies and webhooks see it; `ref` has no name if a collection is deleted."""
    extended = extended_request(admission, DELETE, *ref, "", asking)
    if extended is not None:
        extended.attributes.options = _deletion_document(options)
        extended.attributes.dry_run = bool(options.dryRun)
    return extended


def _deletion_document(options: DeleteOptions) -> Raw:
    sent: Raw = {}
    for name, value in msgspec.to_builtins(options).items():
        if isinstance(value, dict):
            sent[name] = {part: text for part, text in value.items() if text is not None}
        elif value is not None and value != ():
            sent[name] = list(value) if isinstance(value, tuple) else value
    return {**sent, "apiVersion": _META, "kind": "DeleteOptions"}


def complete_options(attributes: Attributes, kind: Kind, old: Raw, deletion: Deletion) -> None:
    """Complete the options of a deletion as the storages of pods and namespaces do, before admission is asked."""
    options = attributes.options or {}
    if kind is KINDS.NAMESPACE and "preconditions" not in options:
        attributes.options = {**options, "preconditions": {"uid": old["metadata"].get("uid", "")}}
    elif kind is KINDS.POD and "gracePeriodSeconds" not in options:
        seconds = 0 if deletion.removes else deletion.object["metadata"].get("deletionGracePeriodSeconds", 0)
        attributes.options = {**options, "gracePeriodSeconds": seconds}


def user_info(user: User | None) -> UserInfo:
    return UserInfo(*(user or API_SERVER))


def _document(kind: str, options: WriteOptions) -> Raw:
    """Return CreateOptions or UpdateOptions with what the client has sent."""
    document: Raw = {"apiVersion": _META, "kind": kind}
    if options.dry_run:
        document["dryRun"] = dry_runs(options.query)
    for name in ("fieldManager", "fieldValidation"):
        if options.query.get(name):
            document[name] = options.query[name]
    return document


def dry_runs(query: Query) -> list[str]:
    return query.get("dryRun", "All").split(",")


def _repair(document: Raw, owners: Any) -> Sequence[str]:
    """Name each owner once, and put managedFields back that cannot be read; return the warnings about both."""
    metadata, warnings = document["metadata"], list[str]()
    try:
        read_sent(metadata.get("managedFields") or ())
    except (ValueError, TypeError, RecursionError) as error:
        metadata.pop("managedFields", None)
        if owners:
            metadata["managedFields"] = owners
        warnings.append(_INVALID_OWNERS.format(why=error))
    return [*warnings, *name_owners_once(metadata, is_patch=True)]
