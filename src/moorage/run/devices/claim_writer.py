"""Write the devices of prepared claims into their status, as DRA drivers do. Kubernetes: drivers, by kubeletplugin."""

import asyncio
from collections.abc import Callable
from functools import partial

from moorage.client.pacing import BackgroundCalls
from moorage.client.protocol import Client, PatchType, Unreachable
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.run.devices.claims import DeviceClaims, Simulates, device_statuses
from moorage.telemetry.logs import get_logger

_FIRST_RETRY, _LAST_RETRY = 0.1, 30.0
_CONFLICT, _TOO_MANY, _SERVER_ERROR, _NOT_FOUND = 409, 429, 500, 404
_LOG = get_logger("kubelet")


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
