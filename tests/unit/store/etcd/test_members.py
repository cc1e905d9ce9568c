"""Several members answer, or fail, in one turn of the event loop: one is used, and none of the others is forgotten."""

import asyncio
import gc
from typing import Any

import pytest

from moorage.store.etcd.errors import EtcdUnreachable
from moorage.store.etcd.members import Members
from moorage.store.etcd.settings import EtcdSettings
from moorage.store.etcd.wire.dial import Endpoint

URLS = tuple(f"http://127.0.0.1:{port}" for port in (1, 2, 3))


class _Connection:
    """What is known of a connection that was made."""

    def __init__(self, url: str) -> None:
        self.url, self.is_closed = url, False

    def close(self, why: str = "") -> None:
        self.is_closed = True


class _Member:
    def __init__(self, url: str) -> None:
        self.connection = _Connection(url)


@pytest.mark.parametrize("failing", [URLS[:1], URLS[1:2], URLS[:2], (), URLS[2:]])
async def test_members_that_end_in_one_turn(failing: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = asyncio.Event()
    opened: list[_Member] = []
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))

    async def open_member(members: Members, endpoint: Endpoint) -> _Member:
        await go_on.wait()
        if endpoint.url in failing:
            raise EtcdUnreachable(f"{endpoint.url} closed the connection")
        opened.append(_Member(endpoint.url))
        return opened[-1]

    monkeypatch.setattr(Members, "_open", open_member)
    members = Members(EtcdSettings(servers=URLS))
    dialing = asyncio.create_task(members._first_to_answer([Endpoint(url) for url in URLS]))
    await asyncio.sleep(60.0)  # all of them are being connected to
    go_on.set()
    used: Any = await dialing
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [member.connection.is_closed for member in opened if member is not used] == [True] * (len(opened) - 1)
    assert not used.connection.is_closed
    del dialing
    gc.collect()
    await asyncio.sleep(0)
    assert complaints == []
