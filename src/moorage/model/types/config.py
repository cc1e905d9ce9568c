"""ConfigMaps and Secrets.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's; bytes stay the base64 text
that the document has. Kubernetes: k8s.io/api/core/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.schema.absent import ABSENT_MAP
from moorage.model.schema.named_types import Bytes, SecretType
from moorage.model.types.meta import ObjectMeta, TypeMeta


class ConfigMap(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    immutable: bool | None = None
    data: dict[str, str] = ABSENT_MAP
    binaryData: dict[str, Bytes] = ABSENT_MAP


class Secret(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    immutable: bool | None = None
    data: dict[str, Bytes] = ABSENT_MAP
    stringData: dict[str, str] = ABSENT_MAP
    type: SecretType = ""
