"""Name the finalizers that Kubernetes puts on objects while something still needs them."""

from typing import Final

CLAIM_IN_USE: Final = "kubernetes.io/pvc-protection"
VOLUME_IN_USE: Final = "kubernetes.io/pv-protection"
VOLUME_ATTRIBUTES_CLASS_IN_USE: Final = "kubernetes.io/vac-protection"
RESOURCE_CLAIM_IN_USE: Final = "resource.kubernetes.io/delete-protection"
