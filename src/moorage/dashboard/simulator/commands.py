"""Exchange lines of JSON over a socket whose other end is the server; sockets come along with lines.

The stream may tear lines apart or join them, but keeps the order: the sockets that a line brings are the next ones.
"""

import os
import socket
from collections import deque
from typing import Any

import msgspec

_BYTES = 65_536
_SOCKETS = 16


class Commands:
    """The processes' end of a channel. Reading blocks unless something is there."""

    def __init__(self, channel: socket.socket) -> None:
        self.socket = channel
        self._rest = b""
        self._descriptors: deque[int] = deque()

    def receive(self) -> list[dict[str, Any]] | None:
        """Return the commands that have come; None if the other end is closed."""
        try:
            found, descriptors, _, _ = socket.recv_fds(self.socket, _BYTES, _SOCKETS)
        except ConnectionError:
            return None
        self._descriptors.extend(descriptors)
        if not found:
            return None
        *lines, self._rest = (self._rest + found).split(b"\n")
        return [msgspec.json.decode(line) for line in lines]

    def take(self) -> socket.socket:
        """Return the next socket that came along. Raises IndexError if there is none."""
        return socket.socket(fileno=self._descriptors.popleft())

    def send(self, message: dict[str, Any]) -> None:
        """Tell the server something. Raises OSError if it is gone."""
        self.socket.sendall(msgspec.json.encode(message) + b"\n")

    def close(self) -> None:
        """Close the channel and whatever came along and was not taken: for a forked process."""
        self.socket.close()
        while self._descriptors:
            os.close(self._descriptors.popleft())
