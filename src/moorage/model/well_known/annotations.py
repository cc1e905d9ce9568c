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
#: What autoscalers are asked not to touch: nodes and pods of Karpenter, then pods and nodes of Cluster Autoscaler.
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SCALE_DOWN_DISABLED: Final = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
#: A node with it, as `true`, is as silent as if it were unplugged.
SIMULATED_STOPPED: Final = "simulate.moorage.dev/stopped"
SIMULATED_SHUTDOWN: Final = "simulate.moorage.dev/shutdown"
API_APPROVED: Final = "api-approved.kubernetes.io"
WEBHOOK_URL: Final = "simulate.moorage.dev/webhook-url"
