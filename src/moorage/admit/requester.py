"""Know who makes a request, where admission depends on it.

Kubernetes: the user info of admission attributes, pkg/auth/nodeidentifier.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

NODES_GROUP, NODE_PREFIX = "system:nodes", "system:node:"


class Named(Protocol):
    """A user, by its name and groups."""

    @property
    def name(self) -> str: ...

    @property
    def groups(self) -> Sequence[str]: ...


class Permission(NamedTuple):
    """An authorizer's answer, and what went wrong on the way to it."""

    allowed: bool
    error: str = ""


class Requester(NamedTuple):
    """The user of a request. `may(verb, resource, namespace, name)` asks the authorizers about the core group."""

    name: str
    groups: Sequence[str]
    may: Callable[[str, str, str, str], Permission]


def node_of(user: Named) -> str | None:
    """Return the name of the node that a user is; None for users that are no node, "" for one without a name."""
    if NODES_GROUP not in user.groups or not user.name.startswith(NODE_PREFIX):
        return None
    return user.name.removeprefix(NODE_PREFIX)
