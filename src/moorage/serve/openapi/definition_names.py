"""What OpenAPI calls a type: `io.k8s.api.apps.v1.Deployment` for the view `Deployment`.

In: a view. Out: the name of its definition. Clients find kinds by an extension and types by these names, so they are
the ones that every Kubernetes cluster uses. Kubernetes: the import path of the Go type.
"""

from typing import Final

from moorage.model.types.view import View

_CORE = "io.k8s.api.core.v1"
META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"

#: The modules of the model that do not hold types of the core group.
_PACKAGES_OF_MODULES = {
    "csi": "io.k8s.api.storage.v1",
    "job": "io.k8s.api.batch.v1",
    "lease": "io.k8s.api.coordination.v1",
    "policy": "io.k8s.api.policy.v1",
    "reported_event": "io.k8s.api.events.v1",
    "reviews": "io.k8s.api.authorization.v1",
    "workload": "io.k8s.api.apps.v1",
}
#: Types that are elsewhere than the rest of their module.
_PACKAGES_OF_TYPES = {
    "Condition": META,
    "DeleteOptions": META,
    "Eviction": "io.k8s.api.policy.v1",
    "LabelSelector": META,
    "LabelSelectorRequirement": META,
    "ManagedFieldsEntry": META,
    "ObjectMeta": META,
    "OwnerReference": META,
    "Preconditions": META,
    "PriorityClass": "io.k8s.api.scheduling.v1",
    "Scale": "io.k8s.api.autoscaling.v1",
    "ScaleSpec": "io.k8s.api.autoscaling.v1",
    "ScaleStatus": "io.k8s.api.autoscaling.v1",
    "SelfSubjectReview": "io.k8s.api.authentication.v1",
    "SelfSubjectReviewStatus": "io.k8s.api.authentication.v1",
    "StorageClass": "io.k8s.api.storage.v1",
    "UserInfo": "io.k8s.api.authentication.v1",
}

#: Types with a JSON form of their own.
SCALAR_DEFINITIONS: Final = {
    "IntOrString": "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "MicroTime": f"{META}.MicroTime",
    "Quantity": "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "Time": f"{META}.Time",
}
LIST_META: Final = f"{META}.ListMeta"


def definition_name(view: type[View]) -> str:
    """The name of a view's definition."""
    module = view.__module__.rpartition(".")[2]
    package = _PACKAGES_OF_TYPES.get(view.__name__) or _PACKAGES_OF_MODULES.get(module, _CORE)
    return f"{package}.{view.__name__}"
