"""Name the admission plugins that run only where they are enabled: by an option, or by the controllers they rely on."""

#: New nodes begin as not ready; the node lifecycle controller removes that taint.
TAINTS_NODES = "TaintNodesByCondition"
#: Volumes and claims get finalizers, which the protection controllers remove.
PROTECTS_STORAGE = "StorageObjectInUseProtection"
#: Pods get the token of their service account, which must exist.
MOUNTS_TOKENS = "ServiceAccount"

OPTIONAL_PLUGINS = (TAINTS_NODES, PROTECTS_STORAGE, MOUNTS_TOKENS)
