"""Render rejections: `Status` objects, views as Go prints the API server's structs, the difference of two views.

Most internal structs are as in the API but for the spelling of names; the tables below have the rest. Types of
apimachinery keep their JSON names and leave out what is empty. Kubernetes: apimachinery, api/errors (NewInvalid,
NewForbidden, NewBadRequest); pkg/apis/core/types.go and its conversion from v1. Differs: Kubernetes prints the
difference of its internal structs.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from moorage.admit.messages.text_difference import unified_difference
from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError, bad_request, invalid
from moorage.model.field_error import FieldError
from moorage.model.go.quoting import GoStruct
from moorage.model.kinds import Kind
from moorage.model.quantity import Quantity
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types import devices, meta
from moorage.model.types.container import PodSecurityContext
from moorage.model.types.pod import PodSpec, Toleration
from moorage.model.types.storage import Volume
from moorage.model.types.view import api_fields


def as_manifest(value: Any) -> Any:
    """Return what is set of a view, in the API's order, without what is empty."""
    if isinstance(value, msgspec.Struct):
        fields = ((name, getattr(value, name)) for name in api_fields(value))
        return GoStruct({name: as_manifest(item) for name, item in fields if item not in (None, "", (), {})})
    if isinstance(value, dict):
        return {name: as_manifest(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [as_manifest(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def difference(old: Any, new: Any) -> str:
    """Return a unified diff of two views as JSON."""
    import json  # few updates need it

    before, after = (json.dumps(as_manifest(view), indent=1).splitlines() for view in (old, new))
    return unified_difference(before, after)


def invalid_status(kind: Kind, name: str, errors: Sequence[FieldError]) -> Raw:
    """Return a 422 Status whose message has each error once, in one line, and whose causes are all of them."""
    causes = [{"reason": error.kind.reason, "message": error.body, "field": error.path} for error in errors]
    texts = list(dict.fromkeys(map(str, errors)))
    return invalid(kind, name, texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]", causes).status


def undecodable(kind: Kind, reason: str) -> ApiError:
    """Return the 400 for a document that its kind cannot hold."""
    version = kind.api_version.rpartition("/")[2]
    return bad_request(f'{kind.name} in version "{version}" cannot be handled as a {kind.name}: {reason}')


def read_request(kind: Kind, document: Raw) -> Any:
    """Return the view of a document that is sent to a subresource. Raises ApiError."""
    try:
        return convert_view(document, kind.view)
    except ConversionError as error:
        raise undecodable(kind, error.problems[0].reason) from None


#: Go's spelling of names that are not the API's with a capital letter, wherever they occur.
_SPELLINGS = {
    "apiGroups": "APIGroups",
    "cidrs": "CIDRs",
    **{
        name: name.upper()
        for name in ("cel", "csi", "fc", "grpc", "ip", "iqn", "iscsi", "nfs", "os", "rbd", "tty", "uid")
    },
    **{name: f"{name.capitalize()}Value" for name in ("int", "bool", "string", "version")},
    **{name: f"{name[:-1].capitalize()}Values" for name in ("ints", "bools", "strings", "versions")},
    "apiGroup": "APIGroup",
    "apiVersion": "APIVersion",
    "awsElasticBlockStore": "AWSElasticBlockStore",
    "cephfs": "CephFS",
    "chapAuthDiscovery": "DiscoveryCHAPAuth",
    "chapAuthSession": "SessionCHAPAuth",
    "diskURI": "DataDiskURI",
    "dnsConfig": "DNSConfig",
    "dnsPolicy": "DNSPolicy",
    "endpoints": "EndpointsName",
    "fsGroup": "FSGroup",
    "fsGroupChangePolicy": "FSGroupChangePolicy",
    "fsType": "FSType",
    "gcePersistentDisk": "GCEPersistentDisk",
    "gmsaCredentialSpec": "GMSACredentialSpec",
    "gmsaCredentialSpecName": "GMSACredentialSpecName",
    "httpGet": "HTTPGet",
    "httpHeaders": "HTTPHeaders",
    "ips": "IPs",
    "iscsiInterface": "ISCSIInterface",
    "pdName": "PDName",
    "seLinuxChangePolicy": "SELinuxChangePolicy",
    "seLinuxOptions": "SELinuxOptions",
    "sslEnabled": "SSLEnabled",
    "storageos": "StorageOS",
    "tcpSocket": "TCPSocket",
    "wwids": "WWIDs",
}
_RBD_SPELLINGS = {"monitors": "CephMonitors", "image": "RBDImage", "pool": "RBDPool", "user": "RadosUser"}
_ALWAYS_WRITTEN = {
    meta.OwnerReference: ("apiVersion", "kind", "name", "uid"),
    meta.LabelSelectorRequirement: ("key", "operator"),
    meta.ManagedFieldsEntry: (),
    meta.ObjectMeta: (),
    meta.LabelSelector: (),
}
_HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


def internal_form(value: Any) -> Any:
    """Return a view, or what a view holds, as Go would print it."""
    if isinstance(value, msgspec.Struct):
        return _FORMS.get(type(value), _plain_struct)(value)
    if isinstance(value, tuple) and value:
        return [internal_form(item) for item in value]
    if isinstance(value, dict) and value:
        return {name: internal_form(item) for name, item in value.items()}
    return str(value) if isinstance(value, Quantity) else value


def _plain_struct(view: msgspec.Struct) -> GoStruct:
    return _in_order(view, api_fields(view))


def _in_order(view: msgspec.Struct, fields: tuple[str, ...]) -> GoStruct:
    spellings = _SPELLINGS if type(view).__name__ != "RBDVolumeSource" else _SPELLINGS | _RBD_SPELLINGS
    shown = GoStruct()
    for name in fields:
        if name == "metadata":
            shown |= internal_form(getattr(view, name))
        else:
            shown[spellings.get(name) or name[0].upper() + name[1:]] = internal_form(getattr(view, name))
    return shown


def _json_struct(view: msgspec.Struct) -> GoStruct:
    always = _ALWAYS_WRITTEN[type(view)]
    fields = ((name, getattr(view, name)) for name in api_fields(view))
    return GoStruct({name: internal_form(item) for name, item in fields if name in always or item not in _EMPTY})


_EMPTY: tuple[Any, ...] = (None, "", 0, (), {})


def _moved(fields: tuple[str, ...], *moves: tuple[str, str]) -> tuple[str, ...]:
    order = list(fields)
    for name, after in moves:
        order.remove(name)
        order.insert(order.index(after) + 1, name)
    return tuple(order)


_POD_FIELDS = _moved(
    tuple(name for name in PodSpec.__struct_fields__ if name not in (*_HOST_FIELDS, "serviceAccount")),
    ("setHostnameAsFQDN", "subdomain"),
    ("preemptionPolicy", "priority"),
    ("overhead", "runtimeClassName"),
)
_SECURITY_FIELDS = _moved(PodSecurityContext.__struct_fields__, ("fsGroupChangePolicy", "fsGroup"))
_VOLUME_FIELDS = ("name", *_moved(Volume.__struct_fields__, ("quobyte", "rbd"))[:-1])


def _pod_spec(spec: PodSpec) -> GoStruct:
    """The namespaces of the host are part of the security context, and there is one name of the service account."""
    shown = _in_order(spec, _POD_FIELDS)
    shown["ServiceAccountName"] = spec.serviceAccountName or spec.serviceAccount
    host = GoStruct({name[0].upper() + name[1:]: getattr(spec, name) for name in _HOST_FIELDS})
    context = _in_order(spec.securityContext or PodSecurityContext(), _SECURITY_FIELDS)
    shown["SecurityContext"] = GoStruct(host | context)
    return shown


def _opaque(config: devices.OpaqueDeviceConfiguration) -> GoStruct:
    return GoStruct(Driver=config.driver, Parameters=_as_written(config.parameters))


def _as_written(value: Any) -> Any:
    """Return JSON whose members stay in their order."""
    if isinstance(value, dict):
        return GoStruct({name: _as_written(item) for name, item in value.items()})
    return [_as_written(item) for item in value] if isinstance(value, list) else value


def _toleration(toleration: Toleration | devices.DeviceToleration) -> GoStruct:
    """Without `expression`, which Kubernetes does not have, unless it is written."""
    shown = _plain_struct(toleration)
    if not toleration.expression:
        del shown["Expression"]
    return shown


_FORMS: dict[type, Callable[[Any], GoStruct]] = {
    PodSpec: _pod_spec,
    Toleration: _toleration,
    devices.DeviceToleration: _toleration,
    devices.OpaqueDeviceConfiguration: _opaque,
    devices.DeviceClaimConfiguration: lambda config: _in_order(config, ("requests", "opaque")),
    devices.DeviceAllocationConfiguration: lambda config: _in_order(config, ("source", "requests", "opaque")),
    Volume: lambda volume: _in_order(volume, _VOLUME_FIELDS),
    **dict.fromkeys(_ALWAYS_WRITTEN, _json_struct),
}
