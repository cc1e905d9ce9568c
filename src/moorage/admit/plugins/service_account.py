"""ServiceAccount: every pod runs as somebody.

In: a new pod and, if there are any, the accounts. Out: the pod with `serviceAccountName` (and its deprecated twin) and
the account's pull secrets, or `Forbidden`. Kubernetes: plugin/pkg/admission/serviceaccount. Differs: no token is
mounted, because nothing here runs that could use one; secrets are not limited.
"""

from collections.abc import Callable

from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.raw import Raw, part
from moorage.model.types.core import ServiceAccount as Account

DEFAULT_ACCOUNT = "default"
_MIRROR = "kubernetes.io/config.mirror"


class ServiceAccount(Plugin):
    """`find` gives the account of a namespace and a name; without it accounts need not exist."""

    def __init__(self, find: Callable[[str, str], Account | None] | None = None) -> None:
        self._find = find

    def admit(self, kind: str, new: Raw, old: Raw | None) -> None:
        if kind != "Pod" or old is not None:
            return
        metadata, spec = part(new, "metadata"), part(new, "spec")
        if _MIRROR in (metadata.get("annotations") or {}):
            if spec.get("serviceAccountName"):
                raise Forbidden("a mirror pod may not reference service accounts")
            return
        name = spec.get("serviceAccountName") or DEFAULT_ACCOUNT
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        if self._find is None:
            return
        namespace = metadata.get("namespace") or ""
        account = self._find(namespace, name)
        if account is None:
            missing = f'serviceaccount "{name}" not found'
            raise Forbidden(f"error looking up service account {namespace}/{name}: {missing}")
        if not spec.get("imagePullSecrets") and account.imagePullSecrets:
            spec["imagePullSecrets"] = [{"name": secret.name} for secret in account.imagePullSecrets]
