"""Describe one write as the admission plugins see it that decide by who makes it.

Kubernetes: admission.Attributes, NewForbidden of apiserver's admission.
"""

from typing import NamedTuple

from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError, failure, forbidden
from moorage.model.kinds import Kind

CREATE, UPDATE, DELETE = "CREATE", "UPDATE", "DELETE"


class Write(NamedTuple):
    """A write. `kind` is that of the resource in the path, also where a subresource is written.

    `name` is empty while a name is yet to be generated, and for each object of a deleted collection. `new` is what the
    client wants to be stored, or the document of a subresource; `old` is what is stored.
    """

    operation: str
    kind: Kind
    namespace: str
    name: str
    subresource: str = ""
    new: Raw | None = None
    old: Raw | None = None

    def refused(self, why: str) -> ApiError:
        """Return the 403 of a plugin."""
        name = self.name
        if not name and self.new is not None:
            metadata = self.new.get("metadata") or {}
            name = metadata.get("generateName") or ""
        return forbidden(self.kind, name or "Unknown", why)


def not_in_cache(kind: Kind, name: str) -> ApiError:
    """Return the 404 of a plugin's lookup, which names the singular where a request's 404 names the plural."""
    resource = f"{kind.singular}.{kind.group}" if kind.group else kind.singular
    details = {"name": name, "group": kind.group, "kind": kind.singular}
    return failure(404, "NotFound", f'{resource} "{name}" not found', details)
