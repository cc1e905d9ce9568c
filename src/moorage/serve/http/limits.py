"""Limit what one client, and all clients together, may cost: defaults near kube-apiserver and Go's net/http."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """A limit is reached when it is exceeded: a body of exactly `body_bytes` is accepted."""

    request_line_bytes: int = 32 * 1024
    head_bytes: int = 64 * 1024
    header_count: int = 128
    body_bytes: int = 3 * 1024 * 1024
    head_seconds: float = 30.0
    body_seconds: float = 60.0
    idle_seconds: float = 180.0
    answer_seconds: float = 60.0
    """How long a handler may take to begin its answer."""
    unread_seconds: float = 20.0
    """How long a client may leave what it was sent unread, once more of it waits than the transport buffers."""
    unread_bytes: int = 256 * 1024
    """The transport's buffer: above it a stream waits for its client."""
    connections: int = 4096
    requests: int = 400
    """Requests that are handled at one time; streams do not count."""
    pipelined: int = 16
    """Requests that wait for the answer to an earlier one on the same connection."""
    linger_seconds: float = 1.0
    """How long to go on reading from a client that was refused while it was sending, so that it reads the refusal."""

    @property
    def sweep_seconds(self) -> float:
        """How often deadlines are checked."""
        shortest = min(
            self.head_seconds,
            self.body_seconds,
            self.idle_seconds,
            self.answer_seconds,
            self.unread_seconds,
            self.linger_seconds,
        )
        return min(1.0, max(0.01, shortest / 4))
