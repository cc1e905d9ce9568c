"""Tell admission who makes a request, where its plugins or the rights of the user decide about more than the verb.

Kubernetes: the user info of admission attributes, and the authorizer that plugins are given.
"""

import msgspec

from moorage.admit.attributes import CREATE, UPDATE, Write
from moorage.admit.raw import Raw
from moorage.admit.requester import Permission, Requester
from moorage.model.kinds import KINDS
from moorage.serve.access.authorization import resource_attributes
from moorage.serve.access.claim_rights import status_writer
from moorage.serve.access.guard import WriteGuard
from moorage.serve.access.rbac import RBAC_GROUP
from moorage.serve.http.messages import Request
from moorage.serve.pki.authentication import MASTERS, User
from moorage.serve.requests.options import WriteOptions
from moorage.serve.resources.served import Target
from moorage.serve.verbs.api import Api


def requester_of(api: Api, user: User | None) -> Requester | None:
    """Return the requester that admission decides by, or None if it does not matter who a user is."""
    if user is None or not api.admission.restricts(user):
        return None

    def may(verb: str, resource: str, namespace: str, name: str) -> Permission:
        asked = resource_attributes(verb, "", resource, namespace=namespace, name=name)
        decision = api.authorization.authorize(user, asked)
        return Permission(decision.allowed, decision.error)

    return Requester(user.name, user.groups, may)


def restrict_request(api: Api, target: Target, request: Request, document: Raw) -> None:
    """Let admission look at the document of a subresource or of a review. Raises ApiError."""
    operation = CREATE if target.verb == "create" else UPDATE
    write = Write(operation, target.kind, target.namespace, target.name, target.subresource, document)
    api.admission.restrict(requester_of(api, request.user), write)


def with_rights(api: Api, target: Target, user: User | None, options: WriteOptions) -> WriteOptions:
    """Return the options of a write with what the rights of its user decide about."""
    if target.kind.records_requester:
        options = msgspec.structs.replace(options, requester=user)
    restricted = requester_of(api, user)
    if restricted is not None:
        options = msgspec.structs.replace(options, restricted=restricted)
    if user is None or MASTERS in user.groups:
        return options
    if target.verb == "create" and target.kind.group != RBAC_GROUP:
        return options
    if target.kind is KINDS.RESOURCE_CLAIM:
        options = msgspec.structs.replace(options, claim_writer=status_writer(api, user))
    guard = WriteGuard(user, target.verb, api.authorization, api.roles)
    return msgspec.structs.replace(options, guard=guard)
