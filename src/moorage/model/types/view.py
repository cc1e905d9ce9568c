"""Define the base of all typed views, Go's two integer widths, and absent lists and maps.

A view is a frozen msgspec struct whose class name is the Go type's name, whose attribute names are the JSON names, and
whose defaults are Go's zero values: absent strings are "", absent lists (), absent pointers None. Views are for
logic; the raw document stays the truth, so a view need not keep what it does not know. Absent lists and maps equal
empty ones, but messages tell them apart: Go prints `null` and `{}`. Kubernetes: the Go structs of k8s.io/api v1.36.
"""

from typing import Annotated, Any, ClassVar, Final

from msgspec import Meta, Struct

from moorage.model.go.integers import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN


class AbsentMap(dict[str, Any]):
    """No map. It is one object for all views, so it must stay empty; views are only read."""

    __slots__ = ()


class AbsentList(tuple[Any, ...]):
    """No list."""

    __slots__ = ()


ABSENT_MAP = AbsentMap()
ABSENT_LIST: AbsentList = AbsentList()


Int32 = Annotated[int, Meta(ge=INT32_MIN, le=INT32_MAX, title="int32")]
Int64 = Annotated[int, Meta(ge=INT64_MIN, le=INT64_MAX, title="int64")]


#: The internal field of what `attach` has read back: it compares whatever the gates of the cluster say.
ATTACHED: Final = "attach.moorage.dev/original"


class View(Struct, frozen=True, gc=False):
    """A read-only, typed reading of (a part of) a raw document.

    Views form trees, never cycles, so the cycle collector may pass them by. `package` is that of the type's OpenAPI
    definition; a kind's own view has its Kind's. `internal` are attributes that the API does not have: an API
    server drops them as it drops all that it does not know.
    """

    package: ClassVar[str] = "io.k8s.api.core.v1"
    internal: ClassVar[frozenset[str]] = frozenset()


def api_fields(view: Struct) -> tuple[str, ...]:
    """Return the attributes of a view that the API has."""
    internal = view.internal if isinstance(view, View) else ()
    return tuple(name for name in view.__struct_fields__ if name not in internal)


class MetaView(View, frozen=True):
    package = "io.k8s.apimachinery.pkg.apis.meta.v1"


class AdmissionView(View, frozen=True):
    package = "io.k8s.api.admission.v1"


class AdmissionRegistrationView(View, frozen=True):
    package = "io.k8s.api.admissionregistration.v1"


class ApiRegistrationView(View, frozen=True):
    package = "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1"


class AppsView(View, frozen=True):
    package = "io.k8s.api.apps.v1"


class AuthenticationView(View, frozen=True):
    package = "io.k8s.api.authentication.v1"


class AuthorizationView(View, frozen=True):
    package = "io.k8s.api.authorization.v1"


class AutoscalingView(View, frozen=True):
    package = "io.k8s.api.autoscaling.v1"


class AutoscalingV2View(View, frozen=True):
    package = "io.k8s.api.autoscaling.v2"


class MetricsView(View, frozen=True):
    package = "io.k8s.metrics.pkg.apis.metrics.v1beta1"


class BatchView(View, frozen=True):
    package = "io.k8s.api.batch.v1"


class DiscoveryView(View, frozen=True):
    package = "io.k8s.api.discovery.v1"


class FlowControlView(View, frozen=True):
    package = "io.k8s.api.flowcontrol.v1"


class NetworkingView(View, frozen=True):
    package = "io.k8s.api.networking.v1"


class PolicyView(View, frozen=True):
    package = "io.k8s.api.policy.v1"


class RbacView(View, frozen=True):
    package = "io.k8s.api.rbac.v1"


class ResourceView(View, frozen=True):
    """A type of k8s.io/api/resource/v1."""

    package = "io.k8s.api.resource.v1"


class ResourceV1beta2View(View, frozen=True):
    """A type of k8s.io/api/resource/v1beta2."""

    package = "io.k8s.api.resource.v1beta2"


class StorageView(View, frozen=True):
    package = "io.k8s.api.storage.v1"
