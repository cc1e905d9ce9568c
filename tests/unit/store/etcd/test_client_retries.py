"""What the client does about refusals and lost answers, at members that are played by the test."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from tests.unit.store.etcd.fake_member import STATUS, FakeMember, Reply, fake_member, header, status_answer

from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.errors import (
    EtcdAuthFailed,
    EtcdCompacted,
    EtcdError,
    EtcdFutureRevision,
    EtcdNoSpace,
    EtcdRefused,
    EtcdTooLarge,
    EtcdTooManyRequests,
    EtcdTooOld,
    EtcdUncertain,
    EtcdUnreachable,
)
from moorage.store.etcd.messages import Get, Put
from moorage.store.etcd.settings import EtcdSettings

TXN, RANGE, AUTHENTICATE = "/etcdserverpb.KV/Txn", "/etcdserverpb.KV/Range", "/etcdserverpb.Auth/Authenticate"
COMPACT, GRANT = "/etcdserverpb.KV/Compact", "/etcdserverpb.Lease/LeaseGrant"
PUT = (Put(b"/a", b"v"),)
DONE = header(8) + b"\x10\x01"

pytestmark = pytest.mark.real_time


def settings(*members: FakeMember, **changes: object) -> EtcdSettings:
    fields = {"servers": tuple(member.url for member in members), "call_seconds": 1.5} | changes
    return EtcdSettings(**fields)  # type: ignore[arg-type]


class InTurn:
    """Replies one after another; the last one from then on."""

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)

    def __call__(self, _: dict[bytes, bytes]) -> Reply:
        return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]


#: A status that etcd gives to a write, and what it means.
MEANINGS: list[tuple[int, str, type[EtcdError]]] = [
    (8, "etcdserver: mvcc: database space exceeded", EtcdNoSpace),
    (8, "etcdserver: too many requests", EtcdTooManyRequests),
    (8, "grpc: received message larger than max (3000000 vs. 2097152)", EtcdTooLarge),
    (3, "etcdserver: request is too large", EtcdTooLarge),
    (3, "etcdserver: user name is empty", EtcdAuthFailed),
    (7, "etcdserver: permission denied", EtcdAuthFailed),
    (16, "etcdserver: invalid auth token", EtcdAuthFailed),
    (11, "etcdserver: mvcc: required revision has been compacted", EtcdCompacted),
    (11, "etcdserver: mvcc: required revision is a future revision", EtcdFutureRevision),
    (5, "etcdserver: requested lease not found", EtcdRefused),
    (15, "etcdserver: corrupt cluster", EtcdRefused),
    (14, "etcdserver: no leader", EtcdUnreachable),
    (14, "etcdserver: not capable", EtcdUnreachable),
    (2, "raft proposal dropped", EtcdUnreachable),
    (14, "etcdserver: request timed out", EtcdUncertain),
    (14, "etcdserver: request timed out, possibly due to previous leader failure", EtcdUncertain),
    (14, "etcdserver: leader changed", EtcdUncertain),
    (14, "etcdserver: server stopped", EtcdUncertain),
    (1, "context canceled", EtcdUncertain),
    (4, "context deadline exceeded", EtcdUncertain),
    (13, "something new", EtcdUncertain),
    (99, "", EtcdUncertain),
]


@pytest.mark.parametrize(("code", "text", "error"), MEANINGS, ids=[f"{code} {text}" for code, text, _ in MEANINGS])
async def test_what_a_refused_write_means(code: int, text: str, error: type[EtcdError]) -> None:
    async with fake_member() as member:
        member.replies[TXN] = (code, text)
        is_tried_again = error in (EtcdUnreachable, EtcdTooManyRequests)
        client = await EtcdClient.connect(settings(member, call_seconds=2.0 if is_tried_again else 0.4))
        with pytest.raises(error) as caught:
            await client.txn((), PUT)
        assert type(caught.value) is error or issubclass(error, EtcdAuthFailed)
        assert "\n" not in str(caught.value)
        tries = member.paths().count(TXN)
        assert tries > 1 if is_tried_again else tries == 1
        await client.close()


@pytest.mark.parametrize(
    "reply",
    [(14, "etcdserver: no leader"), (14, "etcdserver: not capable"), (8, "etcdserver: too many requests")],
)
async def test_a_write_that_was_not_begun_is_tried_again(reply: tuple[int, str]) -> None:
    async with fake_member() as member:
        member.replies[TXN] = InTurn(reply, reply, DONE)
        client = await EtcdClient.connect(settings(member))
        assert (await client.txn((), PUT)).revision == 8
        await client.close()


@pytest.mark.parametrize("reply", [(14, "etcdserver: leader changed"), (14, "etcdserver: request timed out")])
async def test_reads_are_tried_again(reply: tuple[int, str]) -> None:
    async with fake_member() as member:
        for path in (RANGE, TXN, COMPACT):
            member.replies[path] = InTurn(reply, DONE)
        member.replies[GRANT] = InTurn(reply, header() + b"\x10\x05")
        client = await EtcdClient.connect(settings(member))
        assert (await client.range(b"/a")).revision == 8
        assert (await client.txn((), (Get(b"/a"),))).revision == 8
        await client.compact(5)
        assert await client.grant(60) == 5
        member.replies[TXN] = InTurn(reply, DONE)
        assert await client.note(b"/note") == 8
        await client.close()


async def test_a_lost_answer_to_a_write_is_uncertain_and_it_is_not_repeated() -> None:
    async with fake_member() as member, fake_member() as other:

        def hang_up(_: dict[bytes, bytes]) -> Reply:
            member.writers[-1].transport.abort()
            return None

        member.replies[TXN] = member.replies[RANGE] = hang_up
        other.replies[RANGE] = DONE
        client = await EtcdClient.connect(settings(member, other))
        with pytest.raises(EtcdUncertain):
            await client.txn((), PUT)
        assert member.paths().count(TXN) == 1
        assert TXN not in other.paths()
        await client.close()
        client = await EtcdClient.connect(settings(member, other))
        assert (await client.range(b"/a")).revision == 8  # at the other member
        assert client.server == other.url
        await client.close()


async def test_a_call_without_an_answer_ends_at_its_deadline() -> None:
    async with fake_member() as member:
        member.replies[TXN] = member.replies[RANGE] = None
        client = await EtcdClient.connect(settings(member, call_seconds=0.5))
        with pytest.raises(EtcdUncertain, match="in time"):
            await client.txn((), PUT)
        with pytest.raises(EtcdUnreachable, match="in time"):
            await client.range(b"/a")
        await client.close()


async def test_members_are_taken_in_their_order_and_without_a_leader_not_at_all() -> None:
    async with AsyncExitStack() as stack:
        members = [await stack.enter_async_context(fake_member()) for _ in range(3)]
        members[0].replies[STATUS] = status_answer(leader=0)
        client = await EtcdClient.connect(settings(*members))
        assert client.server == members[1].url
        members[1].replies[TXN] = (14, "etcdserver: no leader")
        members[2].replies[TXN] = DONE
        assert (await client.txn((), PUT)).revision == 8
        assert client.server == members[2].url
        await client.close()


async def test_a_write_from_before_an_election_ends_soon_after_it() -> None:
    async with fake_member() as member:
        member.replies[TXN] = None
        client = await EtcdClient.connect(settings(member, call_seconds=1000.0))
        writing = asyncio.create_task(client.txn((), PUT))
        while TXN not in member.paths():
            await asyncio.sleep(0.01)
        member.replies[STATUS] = status_answer(term=4)
        with pytest.raises(EtcdUncertain):
            await writing
        member.replies[TXN] = DONE
        assert (await client.txn((), PUT)).revision == 8
        await client.close()


async def test_a_member_that_loses_its_leader_is_left_without_any_call() -> None:
    async with fake_member() as member, fake_member() as other:
        client = await EtcdClient.connect(settings(member, other))
        member.replies[STATUS] = status_answer(leader=0)
        async with asyncio.timeout(60):
            while client.server != other.url:
                await asyncio.sleep(0.05)
        await client.close()


async def test_a_member_that_lives_but_answers_no_call_is_left() -> None:
    """Its leader may not hear it, while it hears its leader: then it says that all is well."""
    async with fake_member() as member, fake_member() as other:
        client = await EtcdClient.connect(settings(member, other, call_seconds=1000.0))
        member.replies[TXN] = member.proof = None
        other.replies[TXN] = DONE
        with pytest.raises(EtcdUncertain, match="answers no call"):
            await client.txn((), PUT)
        assert TXN not in other.paths()
        assert client.server == other.url
        assert (await client.txn((), PUT)).revision == 8
        await client.close()


async def test_a_member_is_not_left_for_one_that_does_not_answer_either() -> None:
    async with fake_member() as member, fake_member() as other:
        client = await EtcdClient.connect(settings(member, other, call_seconds=2.5, dial_seconds=0.3))
        member.replies[TXN] = member.proof = other.proof = None
        with pytest.raises(EtcdUncertain, match="in time"):
            await client.txn((), PUT)
        assert other.calls  # it was asked
        assert client.server == member.url
        await client.close()


async def test_a_connection_that_leads_nowhere_is_replaced_by_another_to_the_same_member() -> None:
    async with fake_member() as member:
        client = await EtcdClient.connect(settings(member, call_seconds=1000.0))
        first = len(member.writers)
        hears = member.reply
        deaf = asyncio.create_task(client.txn((), PUT))

        def reply(path: str, headers: dict[bytes, bytes], message: bytes) -> Reply:
            return hears(path, headers, message) if len(member.writers) > first else None

        member.reply = reply  # type: ignore[method-assign]
        with pytest.raises(EtcdUncertain, match="answers no call"):
            await deaf
        member.replies[TXN] = DONE
        assert (await client.txn((), PUT)).revision == 8
        await client.close()


async def test_a_member_that_answers_other_calls_is_kept() -> None:
    """Writes may wait for a slow disk: reads show that the member is no worse than another one."""
    async with fake_member() as member, fake_member() as other:
        client = await EtcdClient.connect(settings(member, other, call_seconds=2.0))
        member.replies[TXN] = None
        with pytest.raises(EtcdUncertain, match="in time"):
            await client.txn((), PUT)
        assert client.server == member.url
        assert other.calls == []
        await client.close()


async def test_an_election_is_waited_for_while_a_paused_member_does_not_answer() -> None:
    """The members that are left have no leader at first; they are asked again before the paused one is given up."""
    async with fake_member() as member, fake_member() as other, fake_member() as paused:
        client = await EtcdClient.connect(settings(paused, member, other, call_seconds=1000.0, dial_seconds=1000.0))
        paused.is_silent = True
        member.replies[STATUS] = InTurn(*[status_answer(leader=0)] * 3, status_answer())
        other.replies[STATUS] = status_answer(leader=0)
        for one in (member, other):
            one.replies[RANGE] = DONE
        paused.writers[-1].transport.abort()
        assert (await client.range(b"/a")).revision == 8
        assert client.server == member.url
        await client.close()


async def test_a_member_that_has_a_leader_by_hearsay_only_is_not_taken() -> None:
    """A leader that was paused says that it leads when it goes on, though the others have elected another one."""
    async with fake_member() as member, fake_member() as other:
        member.proof = (14, "etcdserver: leader changed")
        client = await EtcdClient.connect(settings(member, other))
        assert client.server == other.url
        await client.close()


async def test_no_member_has_a_leader() -> None:
    async with fake_member() as member, fake_member() as other:
        member.replies[STATUS] = other.replies[STATUS] = status_answer(leader=0)
        with pytest.raises(EtcdUnreachable, match="has no leader"):
            await EtcdClient.connect(settings(member, other))


async def test_a_server_that_is_too_old() -> None:
    async with fake_member() as member:
        for version in ("3.4.27", "2.3.8", "", "new"):
            member.replies[STATUS] = status_answer(version)
            with pytest.raises(EtcdTooOld, match=r"3\.5 or later is needed"):
                await EtcdClient.connect(settings(member))
        for version in ("3.5.0", "3.6.1", "4.0.0-rc.1"):
            member.replies[STATUS] = status_answer(version)
            await (await EtcdClient.connect(settings(member))).close()


async def test_a_server_that_is_not_etcd() -> None:
    async with fake_member() as member:
        for reply in ((12, "unknown service etcdserverpb.Maintenance"), b"\xff\xff\xff"):
            member.replies[STATUS] = reply
            with pytest.raises(EtcdRefused, match="etcd"):
                await EtcdClient.connect(settings(member))


async def test_a_member_of_another_cluster_is_refused() -> None:
    async with fake_member() as member, fake_member() as stranger:
        stranger.replies[STATUS] = status_answer(cluster=99)
        client = await EtcdClient.connect(settings(member, stranger))
        member.replies[STATUS] = None
        for writer in member.writers:
            writer.transport.abort()
        stranger.replies[TXN] = DONE
        with pytest.raises(EtcdError):
            await client.txn((), PUT)
        assert TXN not in stranger.paths()
        await client.close()


async def test_tokens_are_got_sent_and_renewed() -> None:
    async with fake_member() as member:
        numbers = iter(range(1, 100))
        valid = "t2"
        member.replies[AUTHENTICATE] = lambda _: header() + b"\x12\x02t%d" % next(numbers)

        def check(headers: dict[bytes, bytes]) -> Reply:
            return DONE if headers.get(b"token", b"").decode() == valid else (16, "etcdserver: invalid auth token")

        member.replies[TXN] = check
        client = await EtcdClient.connect(settings(member, username="moorage", password="secret"))
        results = await asyncio.gather(*(client.txn((), PUT) for _ in range(5)))
        assert [result.revision for result in results] == [8] * 5
        assert member.paths().count(AUTHENTICATE) == 2
        valid = "never"
        with pytest.raises(EtcdAuthFailed):
            await client.txn((), PUT)
        assert member.paths().count(AUTHENTICATE) <= 6
        await client.close()


async def test_a_wrong_password_is_said_at_once() -> None:
    async with fake_member() as member, fake_member() as other:
        for one in (member, other):
            one.replies[AUTHENTICATE] = (3, "etcdserver: authentication failed, invalid user ID or password")
        with pytest.raises(EtcdAuthFailed, match="does not accept the user and password") as caught:
            await EtcdClient.connect(settings(member, other, username="moorage", password="secret"))
        assert "secret" not in str(caught.value)


async def test_calls_after_the_end() -> None:
    async with fake_member() as member:
        client = await EtcdClient.connect(settings(member))
        await client.close()
        with pytest.raises(EtcdUnreachable, match="closed"):
            await client.txn((), PUT)
        with pytest.raises(EtcdUnreachable, match="closed"):
            await client.watch(b"/a", b"/b", 1).next()
        await client.close()


async def test_a_silent_port_does_not_hold_up_the_next_member() -> None:
    async with fake_member() as silent, fake_member() as member:
        silent.is_silent = True
        client = await EtcdClient.connect(settings(silent, member, dial_seconds=60.0))
        assert client.server == member.url
        await client.close()


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"servers": ()}, "names no server"),
        ({"servers": ("127.0.0.1:2379",)}, "is not a URL"),
        ({"servers": ("ftp://a:1",)}, "is not a URL"),
        ({"servers": ("http://",)}, "is not a URL"),
        ({"servers": ("http://a:port",)}, "is not a URL"),
        ({"servers": ("http://a:99999",)}, "is not a URL"),
        ({"servers": ("http://a/path",)}, "is not a URL"),
        ({"servers": ("http://u:p@a:1",)}, "is not a URL"),
        ({"servers": ("http://127.0.0.1:1",)}, "connection refused"),
        ({"servers": ("http://no.such.name.invalid:2379",)}, "cannot be resolved"),
        ({"servers": ("http://a:1",), "ca_file": "/ca.pem"}, "need https://"),
        ({"servers": ("https://a:1",), "ca_file": "/no/such/ca.pem"}, "cannot be read"),
        ({"servers": ("https://a:1",), "ca_file": __file__}, "cannot be used"),
        ({"servers": ("https://a:1",), "cert_file": "/cert.pem"}, "together"),
        ({"servers": ("https://a:1",), "cert_file": __file__, "key_file": __file__}, "cannot be used"),
    ],
)
async def test_settings_that_cannot_be_used(fields: dict[str, object], word: str) -> None:
    with pytest.raises(EtcdError, match=word) as caught:
        await EtcdClient.connect(EtcdSettings(**fields))  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


async def test_a_slow_write_to_the_only_member_is_waited_for() -> None:
    async with fake_member() as member:
        member.replies[TXN] = DONE
        client = await EtcdClient.connect(settings(member, call_seconds=5.0))
        member.late = 1.3
        assert (await client.txn((), PUT)).revision == 8
        assert len(member.writers) == 1
        await client.close()


async def test_a_broken_connection_to_the_only_member_is_replaced() -> None:
    async with fake_member() as member:
        member.replies[TXN] = DONE
        client = await EtcdClient.connect(settings(member, call_seconds=20.0, attempt_seconds=20.0))
        member.late = 3600.0
        with pytest.raises(EtcdUncertain, match="answers no call"):
            await client.txn((), PUT)
        assert (await client.txn((), PUT)).revision == 8
        assert len(member.writers) == 2
        await client.close()
