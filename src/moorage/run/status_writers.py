"""Write pod statuses and deletions, and the devices of prepared claims into their status, with retries.

One request at a time is sent for each pod, with its newest status. Unreachable servers, conflicts and server errors are
retried with growing delays; other refusals are logged and dropped. Kubernetes: pkg/kubelet/status; DRA drivers.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from moorage.client.pacing import BackgroundCalls
from moorage.client.protocol import Client, PatchType, Unreachable
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.run.actions import Raw, Remove, WriteStatus
from moorage.run.devices.claims import DeviceClaims, Simulates, device_statuses
from moorage.telemetry.logs import get_logger

FIRST_RETRY, LAST_RETRY = 1.0, 30.0
_CONFLICT, _TOO_MANY, _SERVER_ERROR, _NOT_FOUND = 409, 429, 500, 404
_LOG = get_logger("kubelet")


class _PendingWrites:
    """Pending writes of one pod."""

    __slots__ = ("is_busy", "removes", "retry", "status", "uid")

    def __init__(self, uid: str) -> None:
        self.uid = uid
        self.status: Raw | None = None
        self.removes = self.is_busy = False
        self.retry = FIRST_RETRY


class PodWriter:
    """Pending writes by pod. `is_ours` returns whether a pod, by key and UID, is still to be written."""

    def __init__(self, client: Client, calls: BackgroundCalls, is_ours: Callable[[str, str], bool]) -> None:
        self._client, self._calls, self._is_ours = client, calls, is_ours
        self._pending: dict[str, _PendingWrites] = {}

    def __len__(self) -> int:
        return len(self._pending)

    def write(self, action: WriteStatus) -> None:
        pending = self._of(action.key, action.uid)
        pending.status = action.status
        self._send(action.key, pending)

    def remove(self, action: Remove) -> None:
        pending = self._of(action.key, action.uid)
        pending.removes = True
        self._send(action.key, pending)

    def close(self) -> None:
        self._pending.clear()

    def _of(self, key: str, uid: str) -> _PendingWrites:
        pending = self._pending.get(key)
        if pending is None or pending.uid != uid:
            pending = self._pending[key] = _PendingWrites(uid)
        return pending

    def _send(self, key: str, pending: _PendingWrites) -> None:
        if not pending.is_busy:
            pending.is_busy = True
            self._calls.send(partial(self._carry_out, key, pending))

    async def _carry_out(self, key: str, pending: _PendingWrites) -> None:
        while self._pending.get(key) is pending and (pending.status is not None or pending.removes):
            status, pending.status = pending.status, None
            try:
                await self._carry_out_one(key, pending, status)
            except (ApiError, Unreachable) as error:
                if self._is_worth_another_try(key, pending, error):
                    pending.status = status if pending.status is None else pending.status
                    asyncio.get_running_loop().call_later(pending.retry, self._again, key, pending)
                    pending.retry = min(2 * pending.retry, LAST_RETRY)
                    return
                pending.removes = pending.removes and status is not None
        if self._pending.get(key) is pending:
            del self._pending[key]

    async def _carry_out_one(self, key: str, pending: _PendingWrites, status: Raw | None) -> None:
        namespace, _, name = key.partition("/")
        if status is not None:
            patch = {"metadata": {"uid": pending.uid}, "status": status}
            await self._client.patch(KINDS.POD, name, namespace, patch, subresource="status")
        else:
            await self._client.delete(KINDS.POD, name, namespace, uid=pending.uid, grace_seconds=0)
            pending.removes = False
        pending.retry = FIRST_RETRY

    def _is_worth_another_try(self, key: str, pending: _PendingWrites, error: ApiError | Unreachable) -> bool:
        """Return whether to retry; a pod that is gone or replaced is not."""
        if isinstance(error, ApiError):
            if error.code in (_CONFLICT, _TOO_MANY) or error.code >= _SERVER_ERROR:
                return self._is_ours(key, pending.uid)
            if error.code != _NOT_FOUND:
                _LOG.warning("The API server refused", pod=key, err=error.message)
            return False
        _LOG.debug(2, "The API server cannot be reached", pod=key, err=str(error))
        return self._is_ours(key, pending.uid)

    def _again(self, key: str, pending: _PendingWrites) -> None:
        pending.is_busy = False
        if self._pending.get(key) is not pending:
            return
        if self._is_ours(key, pending.uid):
            self._send(key, pending)
        else:
            del self._pending[key]


_FIRST_RETRY, _LAST_RETRY = 0.1, 30.0


class ClaimWriter:
    """Writes the status of claims as they are known; conflicts and unreachable servers are tried again."""

    def __init__(
        self,
        client: Client,
        calls: BackgroundCalls,
        claims: DeviceClaims,
        simulates: Simulates,
        clock: Callable[[], float],
    ) -> None:
        self._client, self._calls, self._claims, self._clock = client, calls, claims, clock
        self._simulates = simulates
        self._is_open = True

    def write(self, key: str, is_prepared: bool, retry: float = _FIRST_RETRY) -> None:
        if self._is_open:
            self._calls.send(partial(self._write, key, is_prepared, retry))

    def close(self) -> None:
        self._is_open = False

    async def _write(self, key: str, is_prepared: bool, retry: float) -> None:
        claim = self._claims.get(key)
        if claim is None:
            return
        devices = device_statuses(claim, self._clock(), self._simulates, is_prepared=is_prepared)
        if devices is None:
            return
        metadata = {"uid": claim.uid, "resourceVersion": str(claim.revision)}
        patch = {"metadata": metadata, "status": {"devices": devices}}
        try:
            await self._client.patch(
                KINDS.RESOURCE_CLAIM,
                claim.name,
                claim.namespace,
                patch,
                subresource="status",
                patch_type=PatchType.MERGE,
            )
        except ApiError as error:
            if error.code not in (_CONFLICT, _TOO_MANY) and error.code < _SERVER_ERROR:
                if error.code != _NOT_FOUND:
                    _LOG.warning("The API server refused", resourceClaim=key, err=error.message)
                return
        except Unreachable as error:
            _LOG.debug(2, "The API server cannot be reached", resourceClaim=key, err=str(error))
        else:
            return
        asyncio.get_running_loop().call_later(retry, self.write, key, is_prepared, min(2 * retry, _LAST_RETRY))
