"""Count what the pods of each node take of it, pod by pod as they change."""

from moorage.columns.resources import PODS, Amounts, pod_requests
from moorage.control.framework.workloads import is_finished
from moorage.model.go.integers import add64
from moorage.model.types.pod import Pod


class NodeUsage:
    """What pods that are not over request on their nodes; each also takes one of `pods`."""

    def __init__(self) -> None:
        self._requests: dict[str, tuple[str, Amounts]] = {}  # by pod: its node, and what it takes there
        self._used: dict[str, Amounts] = {}

    def count(self, key: str, pod: Pod | None) -> tuple[str, str]:
        """Take a pod as it is now, None if it is gone. Return the nodes it took from before and takes from now."""
        left = arrived = ""
        before = self._requests.pop(key, None)
        if before is not None:
            left = before[0]
            used = self._used[left]
            for name, amount in before[1].items():
                used[name] = add64(used[name], -amount)
            if not used[PODS]:
                del self._used[left]
        if pod is not None and pod.spec.nodeName and not is_finished(pod):
            arrived = pod.spec.nodeName
            taken = {**pod_requests(pod.spec), PODS: 1}
            self._requests[key] = (arrived, taken)
            used = self._used.setdefault(arrived, {})
            for name, amount in taken.items():
                used[name] = add64(used.get(name, 0), amount)
        return left, arrived

    def of(self, node: str) -> Amounts:
        """Return what is taken of a node, by resource."""
        return self._used.get(node, {})

    @property
    def placed(self) -> int:
        """How many pods have a node and are not over."""
        return len(self._requests)
