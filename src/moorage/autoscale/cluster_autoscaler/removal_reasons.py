"""Name why a node is not removed."""

import msgspec


class BlockedPod(msgspec.Struct, frozen=True):
    """A pod that keeps its node, and why."""

    pod: str
    reason: str

    def __str__(self) -> str:
        return f"{self.pod} {self.reason}"
