"""Write audit events to a file or to standard output, in a thread, so that no request waits for a disk.

What is faster than the disk for long is lost, counted and logged. Kubernetes: the log backend of apiserver's audit,
`--audit-log-path`. Differs: always at the Metadata level, there is no policy file; files are not rotated.
"""

import os
import sys
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Full, Queue
from typing import Final

from moorage.serve.audit.events import Answered, answered_request, event_line
from moorage.serve.http.messages import Request, Response, Stream
from moorage.telemetry.logs import get_logger

STANDARD_OUTPUT: Final = "-"
_MAX_WAITING, _MAX_BATCH = 10_000, 500
_LOG = get_logger("apiserver")


class AuditLog:
    """An open audit log. `lost` counts events that were not written."""

    def __init__(self, path: str, clock: Callable[[], float]) -> None:
        """Open a file to append to, or standard output for `-`. Raises OSError."""
        self._file = _open(path)
        self._clock = clock
        self._waiting: Queue[Answered | None] = Queue(_MAX_WAITING)
        self.lost = 0
        self._has_failed = False
        self._thread = threading.Thread(target=self._write, name="moorage-audit-log", daemon=True)
        self._thread.start()

    def enabled(self) -> bool:
        return True

    def identify(self, request: Request, answer: Response | Stream) -> Response | Stream:
        return answer

    def answered(self, request: Request, answer: Response | Stream, seconds: float) -> None:
        """Note a request over HTTP whose answer has been sent."""
        audit_id = request.headers.get("audit-id") or str(uuid.uuid4())
        self.note(answered_request(request, answer, audit_id, self._clock(), seconds))

    def note(self, answered: Answered) -> None:
        """Let a request be written. It never waits."""
        try:
            self._waiting.put_nowait(answered)
        except Full:
            self._lose(1, "too many events wait to be written")

    def close(self) -> None:
        """Write what waits, and end."""
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()
        if self._file != sys.stdout.fileno():
            os.close(self._file)

    def _write(self) -> None:
        is_open = True
        while is_open:
            batch, is_open = self._batch()
            text = b"".join(map(event_line, batch))
            try:
                _write_all(self._file, text)
                self._has_failed = False
            except OSError as error:
                self._lose(len(batch), str(error))

    def _batch(self) -> tuple[list[Answered], bool]:
        """Return what waits, at least one event, and whether more may come."""
        batch: list[Answered] = []
        event = self._waiting.get()
        while event is not None:
            batch.append(event)
            if len(batch) >= _MAX_BATCH:
                return batch, True
            try:
                event = self._waiting.get_nowait()
            except Empty:
                return batch, True
        return batch, False

    def _lose(self, count: int, why: str) -> None:
        self.lost += count
        if not self._has_failed:
            self._has_failed = True
            _LOG.error("Audit events are lost", err=why)


def _open(path: str) -> int:
    if path == STANDARD_OUTPUT:
        return sys.stdout.fileno()
    return os.open(Path(path), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def _write_all(file: int, text: bytes) -> None:
    left = memoryview(text)
    while left:
        left = left[os.write(file, left) :]
