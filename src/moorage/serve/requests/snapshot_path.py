"""Answer /moorage/snapshot, a copy of the store as of one revision, and what the cluster was told beside it.

They are for `moorage snapshot save`. Only administrators get them: a snapshot has everything, Secrets too.
"""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path

from moorage.model.api_error import failure, no_such_path
from moorage.serve.http.messages import Request, Response, Stream
from moorage.serve.pki.authentication import MASTERS
from moorage.store.protocol import Store

SNAPSHOT_PATH = "/moorage/snapshot"
DESCRIPTION_PATH = f"{SNAPSHOT_PATH}/description"
_CHUNK = 1024 * 1024


class SnapshotSource:
    """The store to copy, the folder for a copy that is being sent, and the cluster's description, as JSON."""

    def __init__(self, store: Store, folder: Path | None) -> None:
        self.description = b"{}"
        self._store, self._folder = store, folder

    def answer(self, request: Request) -> Response | Stream:
        """Raises ApiError."""
        user = request.user
        if user is None or MASTERS not in user.groups:
            raise failure(403, "Forbidden", f"snapshots are for users in the group {MASTERS}")
        path = request.path.rstrip("/")
        if path == DESCRIPTION_PATH:
            return Response(200, self.description)
        if path != SNAPSHOT_PATH:
            raise no_such_path()
        return Stream(self._chunks(), "application/octet-stream", is_whole=True)

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        with tempfile.TemporaryDirectory(prefix="snapshot-", dir=self._folder) as folder:
            path = Path(folder) / "copy"
            await self._store.copy(path)
            with path.open("rb") as file:
                while chunk := await asyncio.to_thread(file.read, _CHUNK):
                    yield chunk
