"""Ask the authorizers which parts of a ResourceClaim's status a user may write.

Kubernetes: the authorizer of the storage of resourceclaims, saAssociatedWithAllocatedNode.
"""

from moorage.admit.kinds.devices.claim_rights import StatusWriter
from moorage.serve.access.authorization import denied, resource_attributes
from moorage.serve.pki.authentication import MASTERS, User, account_of_user
from moorage.serve.tokens.claims import NODE_NAME
from moorage.serve.verbs.api import Api


def status_writer(api: Api, user: User | None) -> StatusWriter | None:
    """Return what decides for a user; None for one that may do everything."""
    if user is None or MASTERS in user.groups:
        return None

    def denial(verb: str, subresource: str, namespace: str, name: str) -> str:
        asked = resource_attributes(
            verb, "resource.k8s.io", "resourceclaims", subresource=subresource, namespace=namespace, name=name
        )
        decision = api.authorization.authorize(user, asked)
        if decision.allowed:
            return ""
        return denied(user, asked, ": ".join(filter(None, (decision.error, decision.reason)))).message

    nodes = user.extra.get(NODE_NAME, ()) if account_of_user(user.name)[1] else ()
    return StatusWriter(nodes[0] if len(nodes) == 1 else "", denial)
