"""Say what an installation of attach is to be: versions, namespace, image, certificates, and how it lowers.

Every value that the chart has as a value may be a text that stands for it, whatever its type is.
"""

from typing import Any, Final, NamedTuple

from moorage import __version__
from moorage.attach.policies.additions import Addition
from moorage.attached import names

#: Admission policies that mutate are stable from this minor version of Kubernetes on.
POLICY_MINOR: Final = 36
#: The oldest minor version that has the match conditions of webhooks, which need no gate from then on.
OLDEST_MINOR: Final = 30
REPLICAS: Final = 2
PRIORITY_CLASS: Final = "system-cluster-critical"
UID: Final = 10001  # of the user in the image
RESOURCES: Final = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}}
EXEMPT: Final = {names.EXEMPT_LABEL: "true"}
VERSION_LABEL: Final = "app.kubernetes.io/version"


#: Whether objects are lowered that were not before.
ACCEPT, REFUSE = "accept", "refuse"


class Workload(NamedTuple):
    """What can be chosen for each of the two Deployments."""

    replicas: Any = REPLICAS
    resources: Any = RESOURCES


class Installation(NamedTuple):
    """What is installed. `minor` is the cluster's version, `release` that of Moorage."""

    image: Any
    minor: int = POLICY_MINOR
    namespace: str = names.NAMESPACE
    policies_only: bool = False
    cert_manager: bool = False
    evict_by: Any = "delete"
    native: Any = "auto"
    new_comparisons: Any = ACCEPT
    pull_policy: Any = "IfNotPresent"
    pull_secrets: Any = ()
    priority_class: Any = PRIORITY_CLASS
    node_selector: Any = None
    tolerations: Any = None
    webhook: Workload = Workload()
    controller: Workload = Workload()
    additions: tuple[Addition, ...] = ()
    release: str = __version__

    @property
    def has_policies(self) -> bool:
        """Whether the cluster has mutating admission policies."""
        return self.minor >= POLICY_MINOR

    @property
    def has_webhook(self) -> bool:
        return not self.policies_only

    def labels(self, component: str = "") -> dict[str, str]:
        """Return the labels of every object, which tell its release."""
        own = {"app.kubernetes.io/name": component} if component else {}
        return {**own, "app.kubernetes.io/part-of": "moorage-attach", VERSION_LABEL: self.release}
