"""Name the account of new pods, mount its token, add its pull secrets, and limit the secrets that pods refer to.

Kubernetes: plugin/pkg/admission/serviceaccount. Differs: tokens are mounted, and a missing account is refused, only
where `mounts_tokens` says so; a `default` account that is missing is taken for one that is about to be created, where
Kubernetes waits for it. Pods that share a template share the name of the volume, too.
"""

from collections.abc import Callable, Iterator
from typing import Any

from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.raw import Raw, items, part
from moorage.admit.world import AdmissionWorld
from moorage.match.volumes.object_references import secrets_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.core import ServiceAccount as Account
from moorage.model.types.pod import PodSpec
from moorage.model.well_known.annotations import ENFORCE_MOUNTABLE_SECRETS, MIRROR_POD

DEFAULT_ACCOUNT = "default"
TOKEN_VOLUME = "kube-api-access-"
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_GROUPS = (("initContainers", "init container"), ("containers", "container"))


class ServiceAccount(Plugin):
    """Prepares new pods for their account; `new_suffix` ends the names of token volumes."""

    def __init__(
        self, world: AdmissionWorld, *, mounts_tokens: bool = False, new_suffix: Callable[[], str] = str
    ) -> None:
        self._world, self._mounts_tokens, self._new_suffix = world, mounts_tokens, new_suffix

    def admit(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        if kind is not KINDS.POD or old is not None:
            return
        metadata, spec = part(new, "metadata"), part(new, "spec")
        if MIRROR_POD in (metadata.get("annotations") or {}):
            _check_mirror_pod(spec)
            return
        name = spec.get("serviceAccountName") or DEFAULT_ACCOUNT
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = self._account(metadata.get("namespace") or "", name, kind)
        if self._mounts_tokens and _should_mount(spec, account):
            self._mount_token(spec)
        if account is None:
            return
        if not spec.get("imagePullSecrets") and account.imagePullSecrets:
            spec["imagePullSecrets"] = [{"name": secret.name} for secret in account.imagePullSecrets]
        if _limits_secrets(account):
            _check_secrets(spec, account)

    def attach(self, new: Raw) -> None:
        """Limit the secrets of ephemeral containers."""
        spec = part(new, "spec")
        account = self._world.service_account(part(new, "metadata").get("namespace") or "", _name(spec))
        if account is not None and _limits_secrets(account):
            _check_environment(spec, "ephemeralContainers", "ephemeral container", account)

    def _account(self, namespace: str, name: str, kind: Kind) -> Account | None:
        """Return an account, or None for one that is assumed to exist. Raises Forbidden."""
        account = self._world.service_account(namespace, name)
        is_to_be = name == DEFAULT_ACCOUNT or not self._mounts_tokens
        if account is None and not (
            is_to_be and self._world.assumes(KINDS.SERVICE_ACCOUNT, f"{namespace}/{name}", kind)
        ):
            missing = f'serviceaccount "{name}" not found'
            raise Forbidden(f"error looking up service account {namespace}/{name}: {missing}")
        return account

    def _mount_token(self, spec: Raw) -> None:
        """Mount the token in every container that has nothing mounted at its path; add the volume if one needs it."""
        names = (str(volume.get("name") or "") for volume in items(spec, "volumes"))
        existing = next((name for name in names if name.startswith(TOKEN_VOLUME)), "")
        name, is_needed = existing or f"{TOKEN_VOLUME}{self._new_suffix()}", False
        for group, _ in _GROUPS:
            for container in items(spec, group):
                mounts = items(container, "volumeMounts")
                if not any(mount.get("mountPath") == TOKEN_PATH for mount in mounts):
                    container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}]
                    is_needed = True
        if is_needed and not existing:
            spec["volumes"] = [*items(spec, "volumes"), _token_volume(name)]


def _token_volume(name: str) -> Raw:
    token = {"expirationSeconds": 3607, "path": "token"}
    authority = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [{"serviceAccountToken": token}, {"configMap": authority}, {"downwardAPI": {"items": [namespace]}}]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 0o644}}


def _name(spec: Raw) -> str:
    return str(spec.get("serviceAccountName") or DEFAULT_ACCOUNT)


def _should_mount(spec: Raw, account: Account | None) -> bool:
    own = spec.get("automountServiceAccountToken")
    if own is not None:
        return bool(own)
    return account is None or account.automountServiceAccountToken is not False


def _check_mirror_pod(spec: Raw) -> None:
    if spec.get("serviceAccountName"):
        raise Forbidden("a mirror pod may not reference service accounts")
    view = convert_view(spec, PodSpec)
    if any(True for _ in secrets_of(view)):
        raise Forbidden("a mirror pod may not reference secrets")
    projected = (volume.projected for volume in view.volumes if volume.projected is not None)
    if any(source.serviceAccountToken is not None for volume in projected for source in volume.sources):
        raise Forbidden("a mirror pod may not use ServiceAccountToken volume projections")


def _limits_secrets(account: Account) -> bool:
    return account.metadata.annotations.get(ENFORCE_MOUNTABLE_SECRETS) in _TRUE


def _check_secrets(spec: Raw, account: Account) -> None:
    """Raise Forbidden if a pod refers to a secret that its account does not list."""
    owner = account.metadata.name
    mountable = {secret.name for secret in account.secrets}
    for volume in items(spec, "volumes"):
        secret = volume.get("secret")
        if isinstance(secret, dict) and (name := secret.get("secretName") or "") not in mountable:
            raise Forbidden(f'volume with secret.secretName="{name}" {_not_listed(owner, "secret")}')
    for group, called in _GROUPS:
        _check_environment(spec, group, called, account)
    pull_secrets = {secret.name for secret in account.imagePullSecrets}
    for number, reference in enumerate(items(spec, "imagePullSecrets")):
        if (name := reference.get("name") or "") not in pull_secrets:
            why = _not_listed(owner, "imagePullSecret")
            raise Forbidden(f'imagePullSecrets[{number}].name="{name}" {why}')


def _check_environment(spec: Raw, group: str, called: str, account: Account) -> None:
    mountable = {secret.name for secret in account.secrets}
    for container in items(spec, group):
        for how, name in _secrets_in(container):
            if name not in mountable:
                reference = f'{called} {container.get("name") or ""} with {how} referencing secret.secretName="{name}"'
                raise Forbidden(f"{reference} {_not_listed(account.metadata.name, 'secret')}")


def _secrets_in(container: Raw) -> Iterator[tuple[str, Any]]:
    """Yield how the environment of a container refers to a secret, and the name of that."""
    for variable in items(container, "env"):
        reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if reference is not None:
            yield f"envVar {variable.get('name') or ''}", reference.get("name") or ""
    for source in items(container, "envFrom"):
        if source.get("secretRef") is not None:
            yield "envFrom", source["secretRef"].get("name") or ""


def _not_listed(account: str, what: str) -> str:
    return f"is not allowed because service account {account} does not reference that {what}"
