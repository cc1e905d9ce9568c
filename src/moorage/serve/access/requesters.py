"""Tell admission who makes a request, where its plugins or the rights of the user decide about more than the verb.

Kubernetes: the user info of admission attributes, and the authorizer that plugins are given.
"""

from typing import Any

import msgspec

from moorage.admit.attributes import CREATE, UPDATE, Write
from moorage.admit.raw import Raw
from moorage.admit.requester import Permission, Requester
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.serve.access.authorization import resource_attributes
from moorage.serve.access.claim_rights import status_writer
from moorage.serve.access.guard import WriteGuard
from moorage.serve.access.parameter_rights import WITH_PARAMETERS, ParameterRights
from moorage.serve.access.rbac import RBAC_GROUP
from moorage.serve.http.messages import Request
from moorage.serve.pki.authentication import MASTERS, User
from moorage.serve.requests.options import WriteOptions
from moorage.serve.resources.objects import key_of
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


def asking_of(api: Api, target: Target, request: Request) -> WriteOptions:
    """Return who deletes."""
    restricted = requester_of(api, request.user)
    return WriteOptions(restricted=restricted, user=request.user, version=target.older_version)


def with_rights(api: Api, target: Target, user: User | None, options: WriteOptions) -> WriteOptions:
    """Return the options of a write with what the rights of its user decide about."""
    if target.kind.records_requester:
        options = msgspec.structs.replace(options, requester=user)
    restricted = requester_of(api, user)
    if restricted is not None:
        options = msgspec.structs.replace(options, restricted=restricted)
    if user is None or MASTERS in user.groups:
        return options
    names_parameters = target.kind in WITH_PARAMETERS and not target.subresource
    if target.verb == "create" and target.kind.group != RBAC_GROUP and not names_parameters:
        return options
    if target.kind is KINDS.RESOURCE_CLAIM:
        options = msgspec.structs.replace(options, claim_writer=status_writer(api, user))
    parameters = ParameterRights(user, api.authorization, _Lookups(api)) if names_parameters else None
    guard = WriteGuard(user, target.verb, api.authorization, api.roles, parameters)
    return msgspec.structs.replace(options, guard=guard)


class _Lookups:
    """What the API server knows of policies and of the kinds of their parameters."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def policy(self, kind: Kind, name: str) -> Any:
        stored = self._api.store.peek(key_of(kind, "", name))
        return None if stored is None else convert_view(self._api.values.decode(kind, stored), kind.view)

    def plural(self, api_version: str, kind: str) -> str:
        kinds = self._api.resources.table.values()
        return next((found.plural for found in kinds if (found.api_version, found.name) == (api_version, kind)), "")
