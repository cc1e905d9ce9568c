"""Refuse the writes of a leader whose Lease has run out.

A process that was stopped for longer than its Lease (SIGSTOP, a starved machine) goes on where it was, with a world as
old as the pause, while another candidate leads. Its clients ask the fence before every attempt to send a write, retries
and requests that waited for a connection included. Reads are not refused. What remains is a pause between the question
and the kernel's send. Differs: client-go has no such fence, and says in tools/leaderelection that it does not
guarantee a single acting client.
"""

import asyncio
import time
from collections.abc import Callable

from moorage.client.protocol import NotSent

_NEVER = float("-inf")


class LeaseRanOut(NotSent):
    """The Lease of the writer is no longer valid: nothing was sent."""


class LeaseFence:
    """Knows until when a Lease is held, by a monotonic clock, which goes on while the process is stopped.

    The first refusal closes it for good and sets `refused`: the elector then stops the work.
    """

    def __init__(self, lock: str, now: Callable[[], float] = time.monotonic) -> None:
        """`lock` is the Lease's namespace/name."""
        self._lock, self._now, self._until = lock, now, _NEVER
        self.refused = asyncio.Event()

    def extend(self, until: float) -> None:
        """Let writes pass until this time: when the renewal began, plus the Lease's duration."""
        if not self.refused.is_set():
            self._until = until

    def close(self) -> None:
        """Let nothing pass: the Lease is given up."""
        self._until = _NEVER

    @property
    def is_open(self) -> bool:
        return not self.refused.is_set() and self._now() < self._until

    def check(self) -> None:
        """Raises LeaseRanOut unless the Lease is held."""
        if self._now() >= self._until:
            self.refused.set()
            raise LeaseRanOut(f"the write was not sent: {self.state()}")

    def state(self) -> str:
        """Describe the Lease in a few words."""
        if self._until == _NEVER:
            return f"the lease {self._lock} is not held"
        late = self._now() - self._until
        return f"the lease {self._lock} " + (f"ran out {late:.1f} s ago" if late >= 0 else "is held")
