"""Describe one request as policies and webhooks see it.

Kubernetes: admission.Attributes, VersionedAttributes and the AdmissionRequest that is made of them.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from moorage.admit.raw import Raw

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


class UserInfo(NamedTuple):
    """Who makes a request."""

    name: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


class ObjectKind(NamedTuple):
    """Group, version and kind of an object, such as those of `object`."""

    group: str
    version: str
    kind: str


class ObjectResource(NamedTuple):
    """Group, version and plural name of a resource, as in the path of a request."""

    group: str
    version: str
    resource: str


class Attributes(msgspec.Struct):
    """A request. `object` is replaced by what changes it; all else stays.

    `kind` is that of `object` (Scale for `deployments/scale`), which may differ from what `resource` stores. `object`
    and `old` have apiVersion and kind; `object` is None for DELETE, `old` for CREATE and CONNECT. `name` is empty while
    a name is yet to be generated, and for a deleted collection. `options` is CreateOptions, UpdateOptions, PatchOptions
    or DeleteOptions as JSON with apiVersion and kind.
    """

    operation: str
    resource: ObjectResource
    kind: ObjectKind
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    object: Raw | None = None
    old: Raw | None = None
    options: Raw | None = None
    user: UserInfo = UserInfo()
    dry_run: bool = False
