"""How long to wait before a failed pod of a DaemonSet is replaced, node by node.

In: a node whose pod failed, the time. Out: whether to wait, and how long; longer each time. A node whose kubelet
refuses every pod does not keep everybody busy. Kubernetes: the flowcontrol.Backoff of the DaemonSet controller, which
forgets at a restart too.
"""

FIRST_SECONDS, MAX_SECONDS = 1.0, 900.0
_TIDY_EVERY = 512


class FailedPods:
    """See the module. One for each DaemonSet; it is forgotten when a new generation is observed."""

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self._last: dict[str, tuple[float, float]] = {}

    def waits(self, node: str, now: float) -> float:
        """For how long still; 0 if there is no need."""
        delay, since = self._last.get(node, (0.0, now))
        return max(0.0, since + delay - now)

    def failed(self, node: str, now: float) -> None:
        """One more was replaced. Nodes whose pods have been well for long are forgotten now and then."""
        if len(self._last) % _TIDY_EVERY == _TIDY_EVERY - 1:
            long_ago = now - 2 * MAX_SECONDS
            self._last = {name: (delay, since) for name, (delay, since) in self._last.items() if since > long_ago}
        delay, since = self._last.get(node, (0.0, now))
        is_first = not delay or now - since > 2 * MAX_SECONDS
        self._last[node] = (FIRST_SECONDS if is_first else min(delay * 2, MAX_SECONDS), now)

    def __len__(self) -> int:
        return len(self._last)
