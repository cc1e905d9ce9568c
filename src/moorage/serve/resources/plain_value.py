"""Read a value that another program put into etcd: JSON in any order of fields, as kube-apiserver writes it if told to.

Our own values begin with the metadata and have no resourceVersion, see `objects`; they are returned as they are.
Differs: protobuf and encrypted values, which kube-apiserver writes by default or with a provider, are not read.
"""

from typing import Any

import msgspec

from moorage.serve.resources.kept_versions import CONVERTED, as_kept

_HEAD = b'{"metadata":{"'
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_all = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode
#: The kinds that `kept_versions` may have to convert, as JSON.
_CONVERTED = frozenset(_encode(kind) for kind in CONVERTED)


def plain_value(value: bytes) -> bytes | None:
    """Return the value in the form that readers expect, None for what is no object of the API."""
    if value.startswith(_HEAD):
        return value
    try:
        fields = _decode(value)
        if bytes(fields.get("kind", b"")) in _CONVERTED:
            fields = _decode(_encode(as_kept(_decode_all(value))))
        metadata = _decode(fields.pop("metadata", msgspec.Raw(b"null")))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    metadata.pop("resourceVersion", None)
    return _encode({"metadata": metadata, **fields}) if metadata else None


def value_problem(value: bytes) -> str:
    """Return why `plain_value` is None."""
    if value.startswith(b"k8s\0"):
        return "is protobuf: kube-apiserver writes JSON with --storage-media-type=application/json"
    if value.startswith(b"k8s:enc:"):
        return "is encrypted: Moorage reads no encrypted values"
    return "is not JSON with metadata" if value else "is empty"
