"""Name the OpenAPI definition of a view: `io.k8s.api.apps.v1.Deployment`.

Clients find types by these names, so they are those of every Kubernetes cluster. Kubernetes: the import path of the Go
type.
"""

from typing import Final

from moorage.model.kinds import EVICTION, KINDS, SCALE, VIRTUAL_KINDS
from moorage.model.types.view import View

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"

_PACKAGES_OF_KINDS = {kind.view: kind.openapi_package for kind in (*KINDS.values(), *VIRTUAL_KINDS, EVICTION, SCALE)}

#: Types with a JSON form of their own.
SCALAR_DEFINITIONS: Final = {
    "IntOrString": "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "MicroTime": f"{META}.MicroTime",
    "Quantity": "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "Time": f"{META}.Time",
}
LIST_META: Final = f"{META}.ListMeta"


def definition_name(view: type[View]) -> str:
    return f"{_PACKAGES_OF_KINDS.get(view, view.package)}.{view.__name__}"
