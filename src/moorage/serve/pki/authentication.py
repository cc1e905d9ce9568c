"""Users and groups that every cluster knows, and the paths that need neither.

Kubernetes: user.Info and the well-known names of apiserver's authentication.
"""

from collections.abc import Mapping
from typing import NamedTuple


class User(NamedTuple):
    """A user, as `kubectl auth whoami` shows it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"
#: The key of a user's extra values that tells which token or certificate it came with.
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
ADMIN = User("kubernetes-admin", groups=(MASTERS, AUTHENTICATED))
ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))

_OPEN_PATHS = ("/livez", "/readyz", "/healthz", "/version")


def is_open(path: str) -> bool:
    """Whether a path is open to all: health, its single checks, and version."""
    return path in _OPEN_PATHS or path.startswith(("/livez/", "/readyz/", "/healthz/"))
