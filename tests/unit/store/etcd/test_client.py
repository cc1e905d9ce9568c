"""The client with a real etcd: every call, large answers, TLS, authentication, and what users get wrong."""

import asyncio
import http.server
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from tests.etcd_process import EtcdCluster, etcd_cluster, make_certificates

from moorage.store.etcd import members
from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.errors import (
    EtcdAuthFailed,
    EtcdCompacted,
    EtcdError,
    EtcdFutureRevision,
    EtcdNoSpace,
    EtcdTooLarge,
    EtcdUnreachable,
)
from moorage.store.etcd.messages import Compare, Delete, Get, KeyValue, Put, WatchedEvent
from moorage.store.etcd.settings import EtcdSettings
from moorage.store.etcd.watch import EtcdWatch

pytestmark = pytest.mark.real_time
LOOPS = pytest.mark.parametrize("loop", ["asyncio", "uvloop"])


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with etcd_cluster(tmp_path_factory.mktemp("etcd")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def secure_etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with etcd_cluster(tmp_path_factory.mktemp("secure"), certificates=True) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def _slow_is_not_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the connection to a member that a busy machine slows down; leaving members is tested in test_failover."""
    monkeypatch.setattr(members, "_MUTE_TICKS", 10**6)
    monkeypatch.setattr(members, "_BROKEN_TICKS", 10**6)


def patient(cluster: EtcdCluster) -> EtcdSettings:
    """Return settings for calls that may take as long as a busy machine needs for them."""
    return cluster.settings(dial_seconds=60.0, call_seconds=120.0, keepalive_timeout=120.0)


async def next_events(watch: EtcdWatch, count: int) -> list[WatchedEvent]:
    found: list[WatchedEvent] = []
    while len(found) < count:
        found += (await watch.next()).events
    return found


@LOOPS
async def test_transactions_and_ranges(etcd: EtcdCluster, loop: str) -> None:
    client = await EtcdClient.connect(patient(etcd))
    key = f"/t/{loop}/a".encode()
    created = await client.txn((Compare(key, 0),), (Put(key, b"1"),), (Get(key),))
    assert (created.succeeded, created.found) == (True, ())
    refused = await client.txn((Compare(key, 0),), (Put(key, b"2"),), (Get(key), Get(b"/none")))
    item = KeyValue(key, b"1", created.revision, created.revision, 0)
    assert (refused.succeeded, refused.found) == (False, (item, None))
    updated = await client.txn((Compare(key, created.revision),), (Put(key, b"2"),))
    assert updated.revision > created.revision
    assert (await client.range(key)).items == [KeyValue(key, b"2", created.revision, updated.revision, 0)]
    assert (await client.range(key, revision=created.revision)).items == [item]
    await client.txn((), [Put(key + b"/%d" % number, b"x") for number in range(5)])
    end = f"/t/{loop}0".encode()
    page = await client.range(key, end, limit=2)
    assert (len(page.items), page.count, page.has_more) == (2, 6, True)
    assert [one.value for one in (await client.range(key, end, keys_only=True)).items] == [b""] * 6
    counted = await client.range(key, end, count_only=True, serializable=True)
    assert (counted.items, counted.count) == ([], 6)
    await client.txn((Compare(key, updated.revision),), (Delete(key),))
    await client.txn((), (Delete(key, end),))
    assert (await client.range(key, end)).count == 0
    with pytest.raises(EtcdFutureRevision):
        await client.range(key, revision=10**9)
    await client.close()


@LOOPS
async def test_watches(etcd: EtcdCluster, loop: str) -> None:
    client = await EtcdClient.connect(patient(etcd))
    key = f"/w/{loop}/a".encode()
    first = (await client.txn((), (Put(key, b"1"),))).revision
    watch = client.watch(key, key + b"0", first)
    started = await watch.next()
    assert (started.revision, started.events, started.compacted) == (first - 1, [], 0)
    lease = await client.grant(600)
    second = (await client.txn((), (Put(key, b"2", lease),))).revision
    await client.revoke(lease)
    await client.revoke(lease)
    events = await next_events(watch, 3)
    assert events[:2] == [
        WatchedEvent(False, KeyValue(key, b"1", first, first, 0)),
        WatchedEvent(False, KeyValue(key, b"2", first, second, lease)),
    ]
    assert (events[2].is_delete, events[2].item.key, events[2].item.value) == (True, key, b"")
    await watch.request_progress()
    from_now = client.watch(key, b"", 0)
    assert (await from_now.next()).revision >= second
    from_now.close()
    with pytest.raises(EtcdUnreachable, match="closed"):
        await from_now.next()
    await client.close()
    with pytest.raises(EtcdUnreachable):
        await next_events(watch, 1)


async def test_many_calls_at_once_and_their_watch(etcd: EtcdCluster) -> None:
    client = await EtcdClient.connect(patient(etcd))
    watch = client.watch(b"/many/", b"/many0", 0)
    await watch.next()
    calls = (client.txn((Compare(b"/many/%d" % n, 0),), (Put(b"/many/%d" % n, b"v" * 1000),)) for n in range(3000))
    results = await asyncio.gather(*calls)
    revisions = [result.revision for result in results]
    assert len(set(revisions)) == 3000
    events = await next_events(watch, 3000)
    assert [event.item.modified for event in events] == sorted(revisions)
    assert {event.item.key: event.item.modified for event in events} == {
        b"/many/%d" % number: revision for number, revision in enumerate(revisions)
    }
    await client.close()


async def test_a_watch_whose_reader_is_cancelled_skips_nothing(etcd: EtcdCluster) -> None:
    client = await EtcdClient.connect(patient(etcd))
    first = await client.txn((), (Put(b"/c/0", b"v"),))
    for start in range(1, 4001, 100):
        await client.txn((), [Put(b"/c/%d" % number, b"v") for number in range(start, start + 100)])
    watch = client.watch(b"/c/", b"/c0", first.revision)
    await watch.next()
    seen: list[bytes] = []
    for turns in range(100_000):
        reading = asyncio.create_task(watch.next())
        for _ in range(turns % 20):
            await asyncio.sleep(0)
        reading.cancel()
        try:
            seen += [event.item.key for event in (await reading).events]
        except asyncio.CancelledError:
            await asyncio.sleep(0.001)
        if len(seen) >= 4001:
            break
    assert seen == [b"/c/%d" % number for number in range(4001)]
    await client.close()


@pytest.mark.parametrize("is_secure", [False, True])
async def test_large_values_and_answers(etcd: EtcdCluster, secure_etcd: EtcdCluster, is_secure: bool) -> None:
    client = await EtcdClient.connect(patient(secure_etcd if is_secure else etcd))
    value = bytes(1_400_000)
    for number in range(20):
        await client.txn((), (Put(b"/large/%d" % number, value),))
    result = await client.range(b"/large/", b"/large0")
    assert [len(item.value) for item in result.items] == [len(value)] * 20
    first = min(item.modified for item in result.items)
    events = await next_events(client.watch(b"/large/", b"/large0", first), 20)
    assert sum(len(event.item.value) for event in events) == 20 * len(value)
    with pytest.raises(EtcdTooLarge, match="too large for etcd"):
        await client.txn((), (Put(b"/large/x", bytes(3_000_000)),))
    assert (await client.range(b"/large/x")).items == []
    await client.close()


async def test_compaction(tmp_path: Path) -> None:
    with etcd_cluster(tmp_path) as etcd:
        client = await EtcdClient.connect(patient(etcd))
        revisions = [(await client.txn((), (Put(b"/a", b"%d" % number),))).revision for number in range(5)]
        await client.compact(revisions[3])
        await client.compact(revisions[3])
        await client.compact(revisions[1])
        with pytest.raises(EtcdCompacted):
            await client.range(b"/a", revision=revisions[1])
        watch = client.watch(b"/a", b"", revisions[1])
        result = await watch.next()
        while not result.compacted:
            assert result.events == []
            result = await watch.next()
        assert result.compacted == revisions[3]
        with pytest.raises(EtcdUnreachable, match="compacted"):
            await watch.next()
        await client.close()


async def test_a_full_database(tmp_path: Path) -> None:
    with etcd_cluster(tmp_path, arguments=["--quota-backend-bytes", "2000000"]) as etcd:
        client = await EtcdClient.connect(patient(etcd))

        async def fill() -> None:
            for number in range(200):  # etcd learns of its size every 100 ms
                await client.txn((), (Put(b"/%d" % number, bytes(400_000)),))

        with pytest.raises(EtcdNoSpace, match=r"NOSPACE.*etcdctl alarm disarm"):
            await fill()
        assert (await client.status()).alarms == ("NOSPACE",)
        assert (await client.range(b"/0")).count == 1
        await client.close()


@LOOPS
async def test_certificates(secure_etcd: EtcdCluster, loop: str) -> None:
    client = await EtcdClient.connect(patient(secure_etcd))
    key = f"/tls/{loop}".encode()
    calls = (client.txn((), (Put(key, b"%d" % number),)) for number in range(600))
    assert len(set(await asyncio.gather(*calls))) == 600
    assert (await client.status()).version.startswith("3.5")
    await client.close()


@LOOPS
async def test_certificates_that_are_not_accepted(secure_etcd: EtcdCluster, tmp_path: Path, loop: str) -> None:
    other = make_certificates(tmp_path / f"other-{loop}")
    cases: list[tuple[dict[str, object], str]] = [
        ({"ca_file": str(other.ca)}, "is not trusted.*--etcd-cafile"),
        ({"cert_file": "", "key_file": ""}, "refuses our certificate.*--etcd-certfile"),
        ({"cert_file": str(other.client), "key_file": str(other.client_key)}, "refuses our certificate"),
        ({"key_file": str(other.client_key)}, "cannot be used.*mismatch"),
        (
            {
                "servers": (secure_etcd.urls[0].replace("https", "http"),),
                "ca_file": "",
                "cert_file": "",
                "key_file": "",
            },
            "without TLS",
        ),
    ]
    for changes, words in cases:
        with pytest.raises(EtcdError, match=words) as caught:
            await EtcdClient.connect(secure_etcd.settings(**changes))
        assert "\n" not in str(caught.value)


async def test_urls_that_are_not_those_of_etcd_clients(etcd: EtcdCluster, secure_etcd: EtcdCluster) -> None:
    with web_server() as url:
        cases = [
            (etcd.settings(servers=(url,)), "HTTP/1|client URL"),
            (secure_etcd.settings(servers=(etcd.urls[0].replace("http", "https"),)), "TLS"),
            (secure_etcd.settings(servers=(url.replace("http", "https"),)), "TLS"),
        ]
        for settings, words in cases:
            with pytest.raises(EtcdUnreachable, match=words):
                await EtcdClient.connect(settings)


@contextmanager
def web_server() -> Iterator[str]:
    """A web server that is not etcd."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def with_users(tmp_path: Path) -> AbstractContextManager[EtcdCluster]:
    """A member with authentication: `moorage` may use /registry/, and tokens expire after 2 seconds without use."""

    @contextmanager
    def started() -> Iterator[EtcdCluster]:
        with etcd_cluster(tmp_path, arguments=["--auth-token-ttl", "2"]) as etcd:
            etcd.ctl("user", "add", "root:root")
            etcd.ctl("user", "grant-role", "root", "root")
            etcd.ctl("role", "add", "moorage")
            etcd.ctl("role", "grant-permission", "moorage", "readwrite", "--prefix=true", "/registry/")
            etcd.ctl("user", "add", "moorage:secret")
            etcd.ctl("user", "grant-role", "moorage", "moorage")
            etcd.ctl("auth", "enable")
            yield etcd

    return started()


def start_again(etcd: EtcdCluster) -> None:
    etcd.kill()
    etcd.start()


async def test_users_and_passwords(tmp_path: Path) -> None:
    with with_users(tmp_path) as etcd:
        client = await EtcdClient.connect(etcd.settings(username="moorage", password="secret"))
        first = await client.txn((), (Put(b"/registry/a", b"1"),))
        for forbidden in (b"/other", b"/"):
            with pytest.raises(EtcdAuthFailed, match="does not let our user do this"):
                await client.txn((), (Put(forbidden, b"1"),))
        with pytest.raises(EtcdAuthFailed):
            await client.watch(b"/", b"0", 1).next()
        # All tokens are forgotten when the member starts anew.
        await asyncio.to_thread(start_again, etcd)
        watch = client.watch(b"/registry/", b"/registry0", first.revision)
        assert (await next_events(watch, 1))[0].item.value == b"1"
        await asyncio.to_thread(start_again, etcd)
        assert (await client.txn((), (Put(b"/registry/a", b"2"),))).succeeded
        # And after some time without use.
        await asyncio.sleep(5)
        assert (await client.txn((), (Put(b"/registry/a", b"3"),))).succeeded
        await client.close()


async def test_users_that_are_not_accepted(tmp_path: Path, etcd: EtcdCluster) -> None:
    with with_users(tmp_path) as guarded:
        with pytest.raises(EtcdAuthFailed, match="does not accept the user and password") as caught:
            await EtcdClient.connect(guarded.settings(username="moorage", password="wrong-password"))
        assert "wrong-password" not in str(caught.value)
        client = await EtcdClient.connect(guarded.settings())
        with pytest.raises(EtcdAuthFailed, match="requires a user and password"):
            await client.range(b"/registry/", b"/registry0")
        await client.close()
    with pytest.raises(EtcdAuthFailed, match="has authentication disabled"):
        await EtcdClient.connect(etcd.settings(username="moorage", password="secret"))
