"""The HTTP transport against a real server on a real socket, which misbehaves as it is told."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.client.small_server import Answering, Asked, Reply, SmallServer, small_server

import moorage.client.http_connections
from moorage import __version__
from moorage.client.http_client import HttpClient
from moorage.client.http_connections import Connection
from moorage.client.protocol import EventType, PatchType, Unreachable, WatchEvent
from moorage.model.api_error import ApiError, expired, too_many_requests
from moorage.model.kinds import KINDS

pytestmark = pytest.mark.real_time


def _pod(name: str, revision: int, **rest: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": str(revision)}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, **rest}


@asynccontextmanager
async def telling(answering: Answering, **options: Any) -> AsyncIterator[tuple[HttpClient, SmallServer]]:
    async with small_server(answering) as (server, access):
        client = HttpClient(access, "test", **options)
        try:
            yield client, server
        finally:
            await client.close()


def _always(status: int, body: Any, headers: str = "") -> Answering:
    async def answering(asked: Asked, reply: Reply) -> None:
        reply.say(status, body, headers)

    return answering


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_what_is_sent_for_each_verb(loop: str) -> None:
    async with telling(_always(200, _pod("a", 7))) as (client, server):
        found = await client.get(KINDS.POD, "a b", "default")
        assert (found.key, found.revision, found.uid, found.raw) == ("default/a", 7, "uid-a", _pod("a", 7))
        await client.get(KINDS.NODE, "n1")
        await client.create(KINDS.DEPLOYMENT, {"metadata": {"namespace": "x", "name": "d"}})
        await client.create(KINDS.POD, {"metadata": {"generateName": "d-"}}, "y")
        await client.update(KINDS.NODE, {"metadata": {"name": "n1"}}, subresource="status")
        await client.patch(KINDS.POD, "p", "x", [{"op": "test"}], patch_type=PatchType.JSON)
        await client.patch(KINDS.POD, "p", "x", {"status": {}}, subresource="status")
        await client.patch(KINDS.POD, "p", "x", {"kind": "Pod"}, patch_type=PatchType.APPLY)
        await client.delete(KINDS.POD, "p", "x")
        await client.delete(KINDS.POD, "p", "x", uid="u", grace_seconds=0, propagation="Background")
        await client.bind("x", "p", "u", "n1")
        await client.evict("x", "p", "u")
        sent = [(asked.method, asked.target, asked.headers.get("content-type", "")) for asked in server.asked]
        json_type = "application/json"
        assert sent == [
            ("GET", "/api/v1/namespaces/default/pods/a%20b", ""),
            ("GET", "/api/v1/nodes/n1", ""),
            ("POST", "/apis/apps/v1/namespaces/x/deployments", json_type),
            ("POST", "/api/v1/namespaces/y/pods", json_type),
            ("PUT", "/api/v1/nodes/n1/status", json_type),
            ("PATCH", "/api/v1/namespaces/x/pods/p", "application/json-patch+json"),
            ("PATCH", "/api/v1/namespaces/x/pods/p/status", "application/strategic-merge-patch+json"),
            (
                "PATCH",
                "/api/v1/namespaces/x/pods/p?fieldManager=moorage-test&force=true",
                "application/apply-patch+yaml",
            ),
            ("DELETE", "/api/v1/namespaces/x/pods/p", ""),
            ("DELETE", "/api/v1/namespaces/x/pods/p", json_type),
            ("POST", "/api/v1/namespaces/x/pods/p/binding", json_type),
            ("POST", "/api/v1/namespaces/x/pods/p/eviction", json_type),
        ]
        assert server.asked[0].headers["user-agent"] == f"moorage-test/{__version__}"
        assert server.asked[9].json == {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": {"uid": "u"},
            "gracePeriodSeconds": 0,
            "propagationPolicy": "Background",
        }
        assert server.asked[10].json["target"] == {"kind": "Node", "name": "n1"}
        assert server.asked[11].json["deleteOptions"] == {"preconditions": {"uid": "u"}}
        assert server.connections == 1


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "..%2fx"])
async def test_a_name_never_leads_elsewhere(name: str) -> None:
    async with telling(_always(200, {})) as (client, server):
        with pytest.raises(ApiError) as refusal:
            await client.get(KINDS.POD, name, "default")
        assert refusal.value.reason == "BadRequest"
        assert server.asked == []


async def test_a_refusal_has_the_message_of_the_server() -> None:
    async with telling(_always(410, expired("too old").status)) as (client, _server):
        with pytest.raises(ApiError) as refusal:
            await client.get(KINDS.POD, "a", "default")
        assert (refusal.value.code, refusal.value.reason, refusal.value.message) == (410, "Expired", "too old")


@pytest.mark.parametrize(("status", "reason"), [(404, "NotFound"), (502, "Unknown"), (401, "Unauthorized")])
async def test_a_refusal_in_other_words_is_passed_on(status: int, reason: str) -> None:
    async with telling(_always(status, b"<html><style>p {}</style>\n<p>Sorry,</p>\nno pods.</html>")) as (
        client,
        _server,
    ):
        with pytest.raises(ApiError) as refusal:
            await client.get(KINDS.POD, "a", "default")
        assert (refusal.value.code, refusal.value.reason) == (status, reason)
        assert refusal.value.message == "Sorry, no pods."


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b'{"metadata":[]}', b'{"metadata":{"resourceVersion":"x"}}'])
async def test_an_answer_that_is_not_an_object_is_an_error(body: bytes) -> None:
    async with telling(_always(200, body)) as (client, _server):
        with pytest.raises(Unreachable):
            await client.get(KINDS.POD, "a", "default")


async def test_what_does_not_speak_http_is_unreachable() -> None:
    async def gibberish(asked: Asked, reply: Reply) -> None:
        reply.raw(b"SSH-2.0-OpenSSH\r\n\r\n")

    async with telling(gibberish) as (client, _server):
        with pytest.raises(Unreachable, match="does not speak HTTP"):
            await client.get(KINDS.POD, "a", "default")


async def test_a_closed_port_is_unreachable() -> None:
    async with small_server(_always(200, {})) as (_, access):
        pass
    client = HttpClient(access)
    with pytest.raises(Unreachable, match=r"^http://127\.0\.0\.1:\d+: Connection refused$"):
        await client.get(KINDS.POD, "a", "default")
    await client.close()
    with pytest.raises(Unreachable, match="closed"):
        await client.get(KINDS.POD, "a", "default")


async def test_an_answer_beyond_the_limit_is_cut_off() -> None:
    async with telling(_always(200, b" " * 2000), max_answer_bytes=1000) as (client, _server):
        with pytest.raises(Unreachable, match="more than 1000 bytes"):
            await client.get(KINDS.POD, "a", "default")


class Reading(asyncio.Transport):
    """A transport that says whether it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[str] = []

    def write(self, data: Any) -> None:
        pass

    def is_closing(self) -> bool:
        return "abort" in self.log

    def pause_reading(self) -> None:
        self.log.append("pause")

    def resume_reading(self) -> None:
        self.log.append("resume")

    def abort(self) -> None:
        self.log.append("abort")


async def test_others_have_their_turn_while_a_long_answer_is_read() -> None:
    connection, transport = Connection("server"), Reading()
    connection.connection_made(transport)
    answer = connection.send(b"GET", 9.0)
    connection.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n")
    for piece in (200_000, 200_000, 200_000):  # the last one was read before reading could be stopped
        connection.data_received(b" " * piece)
    assert transport.log == ["pause"]
    await asyncio.sleep(0)
    assert transport.log == ["pause", "resume"]
    connection.data_received(b" " * 300_000)
    assert len((await answer).body) == 900_000


async def test_an_answer_that_says_that_it_is_too_long_is_not_read() -> None:
    connection, transport = Connection("server", max_answer_bytes=1000), Reading()
    connection.connection_made(transport)
    answer = connection.send(b"GET", 9.0)
    connection.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n")
    assert transport.log == ["abort"]
    with pytest.raises(Unreachable, match="answered with more than 1000 bytes"):
        await answer


async def test_a_server_that_does_not_answer_is_given_up() -> None:
    async def silence(asked: Asked, reply: Reply) -> None:
        return

    async with telling(silence, request_seconds=0.05) as (client, _server):
        with pytest.raises(Unreachable, match=r"no answer within 0\.05 seconds"):
            await client.get(KINDS.POD, "a", "default")


async def test_an_answer_without_length_ends_with_its_connection() -> None:
    async def old(asked: Asked, reply: Reply) -> None:
        reply.raw(b"HTTP/1.0 200 OK\r\n\r\n" + json.dumps(_pod("a", 7)).encode())
        reply._writer.close()

    async with telling(old) as (client, server):
        assert (await client.get(KINDS.POD, "a", "default")).revision == 7
        assert (await client.get(KINDS.POD, "a", "default")).revision == 7
        assert server.connections == 2


async def test_a_read_is_repeated_when_a_kept_connection_turns_out_closed_and_a_write_is_not() -> None:
    hang_up = False

    async def answering(asked: Asked, reply: Reply) -> None:
        nonlocal hang_up
        if hang_up:
            hang_up = False
            reply.hang_up()
        else:
            reply.say(200, _pod("a", 7))

    async with telling(answering) as (client, server):
        await client.get(KINDS.POD, "a", "default")
        hang_up = True
        await client.get(KINDS.POD, "a", "default")
        assert len(server.asked) == 3
        hang_up = True
        with pytest.raises(Unreachable):
            await client.create(KINDS.POD, _pod("a", 0))
        assert len(server.asked) == 4


async def test_a_connection_that_was_idle_for_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with telling(_always(200, _pod("a", 7))) as (client, server):
        await client.get(KINDS.POD, "a", "default")
        await client.get(KINDS.POD, "a", "default")
        assert server.connections == 1
        monkeypatch.setattr(moorage.client.http_connections, "IDLE_SECONDS", -1.0)
        await client.get(KINDS.POD, "a", "default")
        assert server.connections == 2


async def test_a_server_that_hangs_up_on_every_new_connection_is_not_asked_for_ever() -> None:
    async def hang_up(asked: Asked, reply: Reply) -> None:
        reply.hang_up()

    async with telling(hang_up) as (client, server):
        with pytest.raises(Unreachable):
            await client.get(KINDS.POD, "a", "default")
        assert len(server.asked) == 1


async def test_come_back_later_is_obeyed_but_not_for_ever() -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    async with telling(_always(429, too_many_requests("busy").status, "Retry-After: 3\r\n"), sleep=sleep) as (
        client,
        server,
    ):
        with pytest.raises(ApiError) as refusal:
            await client.create(KINDS.POD, _pod("a", 0))
        assert refusal.value.headers == (("Retry-After", "3"),)
        assert waited == [3.0] * 10
        assert len(server.asked) == 11
        with pytest.raises(ApiError):
            await client.evict("default", "a")
        assert len(server.asked) == 12


async def test_a_list_takes_as_many_pages_as_there_are() -> None:
    async def pages(asked: Asked, reply: Reply) -> None:
        number = int(asked.target.partition("continue=page-")[2] or 0)
        items = [{"metadata": {"name": f"p{number}-{index}", "resourceVersion": "5"}} for index in range(2)]
        metadata = {"resourceVersion": "9", "continue": f"page-{number + 1}" if number < 2 else ""}
        reply.say(200, {"kind": "PodList", "metadata": metadata, "items": items})

    async with telling(pages) as (client, server):
        items, revision = await client.list_all(KINDS.POD, labels="a=b", fields="x!=y")
        assert [item.key for item in items] == ["p0-0", "p0-1", "p1-0", "p1-1", "p2-0", "p2-1"]
        assert revision == 9
        assert items[0].raw["kind"] == "Pod"
        assert items[0].raw["apiVersion"] == "v1"
        assert "labelSelector=a%3Db&fieldSelector=x%21%3Dy&limit=500" in server.asked[0].target


async def test_an_expired_continue_token_repeats_the_list_in_one_page() -> None:
    async def pages(asked: Asked, reply: Reply) -> None:
        if "continue" in asked.target:
            reply.say(410, expired("The provided continue parameter is too old").status)
        else:
            first = "limit" in asked.target
            names = ["a"] if first else ["a", "b"]
            metadata = {"resourceVersion": "9", "continue": "next"} if first else {"resourceVersion": "12"}
            items = [{"metadata": {"name": name}} for name in names]
            reply.say(200, {"metadata": metadata, "items": items})

    async with telling(pages) as (client, _server):
        items, revision = await client.list_all(KINDS.POD)
        assert ([item.name for item in items], revision) == (["a", "b"], 12)


async def test_some_of_a_list_end_at_a_bound_or_an_expired_token() -> None:
    async def pages(asked: Asked, reply: Reply) -> None:
        if "continue=late" in asked.target:
            reply.say(410, expired("The provided continue parameter is too old").status)
            return
        token = "late" if "continue=next" in asked.target else "next"
        items = [{"metadata": {"name": name}} for name in ("a", "b")]
        reply.say(200, {"metadata": {"continue": token}, "items": items})

    async with telling(pages) as (client, server):
        items, is_all = await client.list_some(KINDS.POD, 3)
        assert ([item.name for item in items], is_all, len(server.asked)) == (["a", "b"] * 2, False, 2)
        items, is_all = await client.list_some(KINDS.POD, 100)
        assert ([item.name for item in items], is_all) == (["a", "b"] * 2, False)
    async with telling(_always(200, {"metadata": {}, "items": []})) as (client, _server):
        assert await client.list_some(KINDS.POD, 3) == ([], True)


def _event(kind: str, name: str, revision: int) -> bytes:
    return json.dumps({"type": kind, "object": _pod(name, revision)}).encode() + b"\n"


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_a_watch_yields_whole_events_wherever_chunks_are_cut(loop: str) -> None:
    bookmark = b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"40"}}}\n'
    told = _event("ADDED", "a", 5) + _event("MODIFIED", "a", 6) + _event("DELETED", "ü", 7) + bookmark

    async def answering(asked: Asked, reply: Reply) -> None:
        reply.begin_chunks()
        for start in range(0, len(told), 11):
            reply.chunk(told[start : start + 11])
            await asyncio.sleep(0)
        reply.raw(b"0\r\n\r\n")

    async with telling(answering, random=lambda: 0.5) as (client, server):
        events: list[WatchEvent] = []
        async for batch in client.watch(KINDS.POD, 4, "default", labels="a"):
            events += batch
        seen = [(event.type, event.object.key, event.object.revision) for event in events]
        assert seen == [
            (EventType.ADDED, "default/a", 5),
            (EventType.MODIFIED, "default/a", 6),
            (EventType.DELETED, "default/ü", 7),
            (EventType.BOOKMARK, "", 40),
        ]
        assert events[1].object.raw == _pod("a", 6)
        assert server.asked[0].target == (
            "/api/v1/namespaces/default/pods?watch=true&allowWatchBookmarks=true&resourceVersion=4"
            "&timeoutSeconds=450&labelSelector=a"
        )


async def test_an_error_in_a_watch_follows_the_events_before_it() -> None:
    async def answering(asked: Asked, reply: Reply) -> None:
        reply.begin_chunks()
        error = json.dumps({"type": "ERROR", "object": expired("too old").status}).encode() + b"\n"
        reply.chunk(_event("ADDED", "a", 5) + error)

    async with telling(answering) as (client, _server):
        watch = client.watch(KINDS.POD, 4)
        assert [event.object.revision for event in await anext(watch)] == [5]
        with pytest.raises(ApiError) as refusal:
            await anext(watch)
        assert refusal.value.code == 410


async def test_a_watch_that_is_refused_raises() -> None:
    async with telling(_always(410, expired("too old").status)) as (client, _server):
        with pytest.raises(ApiError) as refusal:
            await anext(client.watch(KINDS.POD, 4))
        assert refusal.value.code == 410


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_a_broken_watch_yields_its_whole_events_then_is_unreachable(loop: str) -> None:
    async def answering(asked: Asked, reply: Reply) -> None:
        reply.begin_chunks()
        reply.chunk(_event("ADDED", "a", 5) + b'{"type":"ADD')
        await reply._writer.drain()
        reply._writer.close()

    async with telling(answering) as (client, _server):
        watch = client.watch(KINDS.POD, 4)
        assert len(await anext(watch)) == 1
        with pytest.raises(Unreachable):
            await anext(watch)


@pytest.mark.parametrize("line", [b"{}\n", b"nonsense\n", b'{"type":"NEWS","object":{}}\n', b"\xff\n"])
async def test_a_watch_with_undecodable_events_is_unreachable(line: bytes) -> None:
    async def answering(asked: Asked, reply: Reply) -> None:
        reply.begin_chunks()
        reply.chunk(line)

    async with telling(answering) as (client, _server):
        with pytest.raises(Unreachable):
            await anext(client.watch(KINDS.POD, 4))


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_a_reader_that_is_slow_holds_the_server_up_and_loses_nothing(loop: str) -> None:
    padding = "x" * 100_000
    count = 200

    async def answering(asked: Asked, reply: Reply) -> None:
        reply.begin_chunks()
        for index in range(count):
            reply.chunk(json.dumps({"type": "ADDED", "object": _pod("a", 5 + index, padding=padding)}).encode() + b"\n")
        reply.raw(b"0\r\n\r\n")

    async with telling(answering) as (client, _server):
        revisions: list[int] = []
        async for batch in client.watch(KINDS.POD, 4):
            revisions += [event.object.revision for event in batch]
            await asyncio.sleep(0.001)
        assert revisions == list(range(5, 5 + count))


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_many_at_once_share_the_connections_there_may_be(loop: str) -> None:
    async with telling(_always(200, _pod("a", 7)), most_connections=4) as (client, server):
        found = await asyncio.gather(*(client.get(KINDS.POD, "a", "default") for _ in range(100)))
        assert len(found) == 100
        assert server.connections == 4


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_whoever_gives_up_waiting_takes_no_connection_with_them(loop: str) -> None:
    async def answering(asked: Asked, reply: Reply) -> None:
        if "slow" not in asked.target:
            reply.say(200, _pod("a", 7))

    async with telling(answering, most_connections=2) as (client, _server):
        for _ in range(3):
            slow = [asyncio.create_task(client.get(KINDS.POD, "slow", "default")) for _ in range(5)]
            await asyncio.sleep(0.01)
            for task in slow:
                task.cancel()
            await asyncio.gather(*slow, return_exceptions=True)
        found = await asyncio.gather(*(client.get(KINDS.POD, "a", "default") for _ in range(10)))
        assert len(found) == 10


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_closing_ends_requests_under_way(loop: str) -> None:
    async def silence(asked: Asked, reply: Reply) -> None:
        return

    async with telling(silence, most_connections=2) as (client, server):
        waiting = [asyncio.create_task(client.get(KINDS.POD, "a", "default")) for _ in range(3)]
        while len(server.asked) < 2:
            await asyncio.sleep(0.001)
        await client.close()
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(end, Unreachable) for end in ends)


async def test_documents_are_sent_with_the_escapes_of_go() -> None:
    async with telling(_always(200, _pod("a", 7))) as (client, server):
        labelled = {"metadata": {"name": "a", "namespace": "x", "annotations": {"note": "a<b & c>d"}}}
        await client.create(KINDS.POD, labelled)
        await client.update(KINDS.POD, labelled)
        await client.patch(KINDS.POD, "a", "x", labelled)
        for asked in server.asked:
            assert b'"a\\u003cb \\u0026 c\\u003ed"' in asked.body


async def test_a_dry_run_client_sends_dry_run_with_every_write() -> None:
    async with telling(_always(200, _pod("a", 7))) as (client, server):
        trial = HttpClient(client._access, "test", dry_run=True)
        await trial.get(KINDS.POD, "a", "x")
        await trial.create(KINDS.POD, {"metadata": {"name": "p"}}, "x")
        await trial.update(KINDS.NODE, {"metadata": {"name": "n1"}})
        await trial.patch(KINDS.POD, "p", "x", {"spec": {}})
        await trial.patch(KINDS.POD, "p", "x", {"kind": "Pod"}, patch_type=PatchType.APPLY)
        await trial.bind("x", "p", "u", "n1")
        await trial.evict("x", "p")
        await trial.delete(KINDS.POD, "p", "x")
        await trial.close()
        assert [asked.target.partition("?")[2] for asked in server.asked] == [
            "",
            *["dryRun=All"] * 3,
            "fieldManager=moorage-test&force=true&dryRun=All",
            *["dryRun=All"] * 2,
            "",
        ]
        assert server.asked[-1].json["dryRun"] == ["All"]
