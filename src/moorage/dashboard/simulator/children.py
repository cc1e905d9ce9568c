"""Fork children, kill them by number, and hear when they end; end with the socket that a process lives for."""

import os
import select
import signal
import socket
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from types import FrameType

from moorage.plan.simulation.forked import run_and_exit, why_ended

#: How often a busy process looks whether the other end of its socket is closed.
_LOOK_SECONDS = 0.25


class Children:
    """The children of this process that have not been waited for. It must have one thread.

    `bell` is readable when a child may have ended.
    """

    def __init__(self) -> None:
        self._pids: dict[Hashable, int] = {}
        self.bell, self._ring = socket.socketpair()
        self.bell.setblocking(False)
        self._ring.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._ring.fileno(), warn_on_full_buffer=False)

    def fork(self, number: Hashable, work: Callable[[], None]) -> None:
        """Run a function in a child, which ends with it."""
        pid = os.fork()
        if pid:
            self._pids[number] = pid
            return
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.bell.close()
        self._ring.close()
        run_and_exit(work)

    def kill(self, number: Hashable) -> None:
        """Kill a child, if it has not ended yet."""
        pid = self._pids.get(number)
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def reap(self) -> Iterator[tuple[Hashable, str]]:
        """Yield the children that have ended, and why if not by themselves."""
        with suppress(BlockingIOError):
            while self.bell.recv(4096):
                pass
        for number, pid in list(self._pids.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._pids[number]
                yield number, why_ended(os.waitstatus_to_exitcode(status))

    def kill_all(self) -> None:
        """Kill all and wait until they are gone."""
        for number in self._pids:
            self.kill(number)
        for pid in self._pids.values():
            os.waitpid(pid, 0)
        self._pids.clear()


def end_with(*others: socket.socket) -> None:
    """End this process soon after the other end of a socket is closed, however busy the process is."""
    poll = select.poll()
    for other in others:
        poll.register(other, 0)

    def look(_: int, __: FrameType | None) -> None:
        if poll.poll(0):
            os._exit(0)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _LOOK_SECONDS, _LOOK_SECONDS)


def stop_looking() -> None:
    """End what `end_with` began: an idle process sees the end of its socket at once."""
    signal.setitimer(signal.ITIMER_REAL, 0)
