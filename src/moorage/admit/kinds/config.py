"""Validate ConfigMaps, Secrets and ServiceAccounts.

In: views. Out: field errors. Kubernetes: ValidateConfigMap, ValidateSecret, ValidateServiceAccount and their updates.
"""

import msgspec

from moorage.admit.kinds.fields import validate_immutable
from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.metadata import validate_object_meta, validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.admit.prepare import kind_defaults as defaults
from moorage.admit.prepare import strategies
from moorage.model.field_error import FieldError, FieldErrors, forbidden, invalid, required, too_long
from moorage.model.go.json_syntax import json_complaint
from moorage.model.go.pem_blocks import decode_base64
from moorage.model.go.tls_pair import pair_complaint
from moorage.model.names import byte_length, config_key_errors
from moorage.model.text.json_text import json_type
from moorage.model.types.core import ConfigMap, Secret, ServiceAccount
from moorage.model.well_known.annotations import ENFORCE_MOUNTABLE_SECRETS, SERVICE_ACCOUNT_NAME

LARGEST = 1024 * 1024
IMMUTABLE_WHEN_SET = "field is immutable when `immutable` is set"
DUPLICATE_KEY = "duplicate of key present in binaryData"

_TLS = "kubernetes.io/tls"
_ANY_MAP = "map[string]interface {}"
_REDACTED = "<secret contents redacted>"
#: Keys that must be there, for types where that is all there is to say.
_REQUIRED_KEYS = {_TLS: ("tls.crt", "tls.key")}
_DOCKER_KEYS = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}


def validate_config_map(config: ConfigMap, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(config.metadata, "metadata")
    size = 0
    for key, text in config.data.items():
        yield from [invalid(f"data[{key}]", key, message) for message in config_key_errors(key)]
        if key in config.binaryData:
            yield invalid(f"data[{key}]", key, DUPLICATE_KEY)
        size += byte_length(text)
    for key, encoded in config.binaryData.items():
        yield from [invalid(f"binaryData[{key}]", key, message) for message in config_key_errors(key)]
        size += len(decode_base64(encoded))
    if size > LARGEST:
        yield too_long("[]", LARGEST)


def validate_config_map_update(new: ConfigMap, old: ConfigMap, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    if old.immutable:
        if not new.immutable:
            yield forbidden("immutable", IMMUTABLE_WHEN_SET)
        for name in ("data", "binaryData"):
            if getattr(new, name) != getattr(old, name):
                yield forbidden(name, IMMUTABLE_WHEN_SET)
    yield from validate_config_map(new, options)


def validate_secret(secret: Secret, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(secret.metadata, "metadata")
    size = 0
    for key, encoded in secret.data.items():
        yield from [invalid(f"data[{key}]", key, message) for message in config_key_errors(key)]
        size += len(decode_base64(encoded))
    if size > LARGEST:
        yield too_long("data", LARGEST)
    yield from _validate_contents(secret)


def _validate_contents(secret: Secret) -> list[FieldError]:
    data, kind = secret.data, secret.type
    if kind == "kubernetes.io/service-account-token" and not secret.metadata.annotations.get(SERVICE_ACCOUNT_NAME):
        return [required(f"metadata.annotations[{SERVICE_ACCOUNT_NAME}]")]
    if kind in _DOCKER_KEYS:
        return _validate_docker_config(data.get(_DOCKER_KEYS[kind]), f"data[{_DOCKER_KEYS[kind]}]")
    if kind == "kubernetes.io/basic-auth" and "username" not in data and "password" not in data:
        return [required("data[username]"), required("data[password]")]
    if kind == "kubernetes.io/ssh-auth" and not data.get("ssh-privatekey"):
        return [required("data[ssh-privatekey]")]
    return [required(f"data[{key}]") for key in _REQUIRED_KEYS.get(kind, ()) if key not in data]


def _validate_docker_config(encoded: str | None, path: str) -> list[FieldError]:
    if encoded is None:
        return [required(path)]
    content = decode_base64(encoded)
    if not content:
        return [invalid(path, _REDACTED, "unexpected end of JSON input")]
    try:
        config = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return [invalid(path, _REDACTED, json_complaint(content) or "invalid JSON")]
    if config is None or isinstance(config, dict):
        return []
    return [invalid(path, _REDACTED, f"json: cannot unmarshal {json_type(config)} into Go value of type {_ANY_MAP}")]


def validate_secret_update(new: Secret, old: Secret, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from validate_immutable(new.type, old.type, "type")
    if old.immutable:
        if not new.immutable:
            yield forbidden("immutable", IMMUTABLE_WHEN_SET)
        if _decoded(new) != _decoded(old):
            yield forbidden("data", IMMUTABLE_WHEN_SET)
    yield from validate_secret(new, options)


def _decoded(secret: Secret) -> dict[str, bytes]:
    return {key: decode_base64(encoded) for key, encoded in secret.data.items()}


def validate_service_account(account: ServiceAccount, options: ValidationOptions) -> list[FieldError]:
    return validate_object_meta(account.metadata, "metadata")


def validate_service_account_update(
    new: ServiceAccount, old: ServiceAccount, options: ValidationOptions
) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from validate_service_account(new, options)


def service_account_warnings(new: ServiceAccount, old: ServiceAccount | None) -> list[str]:
    """Warn of the deprecated annotation where it is new."""
    name = ENFORCE_MOUNTABLE_SECRETS
    if name not in new.metadata.annotations or (old is not None and name in old.metadata.annotations):
        return []
    instead = "prefer separate namespaces to isolate access to mounted secrets"
    return [f"metadata.annotations[{name}]: deprecated in v1.32+; {instead}"]


def secret_warnings(secret: Secret) -> list[str]:
    """Warn of a TLS Secret whose certificate and key are no pair."""
    if secret.type != _TLS:
        return []
    certificate, key = (decode_base64(secret.data.get(name, "")) for name in _REQUIRED_KEYS[_TLS])
    complaint = pair_complaint(certificate, key)
    return [complaint] if complaint else []


ROWS: Rows = {
    ConfigMap: KindRow(validate_config_map, validate_config_map_update),
    Secret: KindRow(
        validate_secret,
        validate_secret_update,
        defaults.default_secret,
        strategies.prepare_secret,
        warnings=secret_warnings,
    ),
    ServiceAccount: KindRow(
        validate_service_account,
        validate_service_account_update,
        prepare=strategies.prepare_service_account,
        warnings_of_change=service_account_warnings,
    ),
}
