"""RuntimeClasses: what pods of a container runtime need beside their containers, and where they can run.

Kubernetes: k8s.io/api/node/v1.
"""

from moorage.model.schema.named_types import ResourceList
from moorage.model.types.meta import ApiObject
from moorage.model.types.pod import Toleration
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, View


class Overhead(View, frozen=True, gc=False):
    package = "io.k8s.api.node.v1"
    podFixed: ResourceList = ABSENT_MAP


class Scheduling(View, frozen=True, gc=False):
    package = "io.k8s.api.node.v1"
    nodeSelector: dict[str, str] = ABSENT_MAP
    tolerations: tuple[Toleration, ...] = ABSENT_LIST


class RuntimeClass(ApiObject, frozen=True, gc=False):
    handler: str = ""
    overhead: Overhead | None = None
    scheduling: Scheduling | None = None
