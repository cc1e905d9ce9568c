"""Name what becomes of a pod."""

from enum import StrEnum


class Standing(StrEnum):
    """What becomes of the pod."""

    BOUND = "Bound"
    FITS = "Fits"
    PREEMPTS = "Preempts"
    PENDING = "Pending"
    FAILED = "Failed"  # its kubelet refused it, or its containers failed
    EVICTED = "Evicted"  # a taint made it leave its node
    REFUSED = "Refused"  # the API server refuses it, as other pods of its workload
    COMPLETE = "Complete"  # all pods of the workload are there; what is explained would be one more


#: The pod runs nowhere, or others would have to leave for it.
PENDING_STANDINGS = (Standing.PENDING, Standing.PREEMPTS, Standing.FAILED, Standing.EVICTED, Standing.REFUSED)
