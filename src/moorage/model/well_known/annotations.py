"""Name the annotations that Kubernetes reads or writes, and those that tell a simulated node what to do."""

from typing import Final

MIRROR_POD: Final = "kubernetes.io/config.mirror"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
BETA_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
DEFAULT_STORAGE_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
BETA_DEFAULT_STORAGE_CLASS: Final = "storageclass.beta.kubernetes.io/is-default-class"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
DEPLOYMENT_REVISION: Final = "deployment.kubernetes.io/revision"
POD_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
CONTROLLER_HASH: Final = "controller.kubernetes.io/hash"
SERVICE_ACCOUNT_NAME: Final = "kubernetes.io/service-account.name"
ENFORCE_MOUNTABLE_SECRETS: Final = "kubernetes.io/enforce-mountable-secrets"
EXTENDED_RESOURCE_CLAIM: Final = "resource.kubernetes.io/extended-resource-claim"
SIMULATED_SHUTDOWN: Final = "simulate.moorage.dev/shutdown"
API_APPROVED: Final = "api-approved.kubernetes.io"
