"""Tell admission who makes a request, where its plugins decide by that.

Kubernetes: the user info of admission attributes, and the authorizer that plugins are given.
"""

from moorage.admit.attributes import CREATE, UPDATE, Write
from moorage.admit.raw import Raw
from moorage.admit.requester import Permission, Requester
from moorage.serve.access.authorization import resource_attributes
from moorage.serve.http.messages import Request
from moorage.serve.pki.authentication import User
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
