"""Authorizers for tests, filled without an API server."""

from collections.abc import Iterable
from typing import Any

from moorage.model.kinds import kind_of, view_of
from moorage.serve.access.authorization import Authorization
from moorage.serve.access.bootstrap.policy import bootstrap_bindings, bootstrap_roles
from moorage.serve.access.rbac import RoleIndex


def role_index(documents: Iterable[dict[str, Any]]) -> RoleIndex:
    """Return an index that has learned documents, as the store would tell of them."""
    roles = RoleIndex()
    for document in documents:
        kind = kind_of(document)
        assert kind is not None
        roles.learn(kind, view_of(document))
    return roles


def bootstrap_authorization() -> Authorization:
    """Return what decides in a new cluster."""
    return Authorization([role_index([*bootstrap_roles(), *bootstrap_bindings()])])
