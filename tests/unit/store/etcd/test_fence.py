"""A fence is written again and again while etcd cannot be reached, and once where etcd refuses it."""

from typing import cast

import pytest

from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.errors import EtcdAuthFailed, EtcdError, EtcdTooManyRequests, EtcdUnreachable
from moorage.store.etcd.fence import Fence
from moorage.store.etcd.layout import KeyLayout


class _Client:
    def __init__(self, error: EtcdError) -> None:
        self._error, self.calls = error, 0

    async def grant(self, seconds: int) -> int:
        self.calls += 1
        raise self._error


@pytest.mark.parametrize(
    ("error", "is_tried_again"),
    [
        (EtcdAuthFailed(7, "etcdserver: permission denied"), False),
        (EtcdTooManyRequests(8, "etcdserver: too many requests"), True),
        (EtcdUnreachable("connection refused"), True),
    ],
)
async def test_a_refusal_is_final(error: EtcdError, is_tried_again: bool) -> None:
    client = _Client(error)
    fence = Fence(cast(EtcdClient, client), KeyLayout("/registry", {}))
    with pytest.raises(type(error)):
        await fence.renew()
    assert (client.calls > 1) is is_tried_again
