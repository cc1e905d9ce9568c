"""Name the effects of taints, and the keys of the taints that Kubernetes itself puts on nodes."""

from typing import Final

NO_SCHEDULE: Final = "NoSchedule"
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
NO_EXECUTE: Final = "NoExecute"
NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
MEMORY_PRESSURE: Final = "node.kubernetes.io/memory-pressure"
DISK_PRESSURE: Final = "node.kubernetes.io/disk-pressure"
PID_PRESSURE: Final = "node.kubernetes.io/pid-pressure"
NETWORK_UNAVAILABLE: Final = "node.kubernetes.io/network-unavailable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
UNINITIALIZED: Final = "node.cloudprovider.kubernetes.io/uninitialized"
SHUTDOWN: Final = "node.cloudprovider.kubernetes.io/shutdown"
