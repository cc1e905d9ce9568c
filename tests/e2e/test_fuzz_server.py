"""What no well-meaning client sends, over real connections to a real `moorage up`, which stays well."""

import asyncio
import json
from pathlib import Path
from random import Random

import pytest
from tests.e2e.fuzz_bytes import raw_request, wire_form
from tests.e2e.fuzz_documents import fine
from tests.e2e.fuzz_requests import RequestMaker
from tests.e2e.up_process import UpProcess
from tests.e2e.wire_client import Access, Answer, WireClient, read_answer

from moorage.model.kinds import KINDS

_PATIENCE = 300.0  # seconds: for a test that fails instead of hanging
_BESIDE = 8
_MAX_MEGABYTES = 400
_MAX_FILES = 64


def _check(answer: Answer, sent: bytes) -> None:
    said = f"{sent[:3000]!r}\n{answer.body[:1000]!r}"
    # 501 and 505: an encoding or a version of HTTP that this server does not speak
    # 500: a webhook that a request has registered does not answer
    assert answer.status < 500 or answer.status in (501, 505) or b"failed calling webhook" in answer.body, said
    assert b"Traceback" not in answer.body, said
    if answer.status >= 400 and answer.body:
        status = json.loads(answer.body)
        assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", answer.status), said
        assert status["message"], said
        assert status["reason"], said


async def _send_whole(access: Access, seed: int, count: int) -> None:
    """Requests whose HTTP is fine, on connections that stay open for as long as the server lets them."""
    maker = RequestMaker(seed)
    streams = await access.connect()
    for _ in range(count):
        asked = maker.next()
        if asked.method in ("CONNECT", "BREW"):
            continue
        sent = wire_form(asked, access.token)
        reader, writer = streams
        writer.write(sent)
        answer = await read_answer(reader, is_head=asked.method == "HEAD")
        _check(answer, sent)
        if answer.headers.get("connection") == "close" or "transfer-encoding" in answer.headers:
            writer.transport.abort()
            streams = await access.connect()
    streams[1].transport.abort()


async def _send_bytes(access: Access, seed: int, count: int) -> None:
    """Bytes that are not quite HTTP, each on a connection of its own. Whatever is answered, is answered properly.

    Half of those who send them are gone before they have heard a word.
    """
    random = Random(seed)
    answered: set[int] = set()
    for _ in range(count):
        sent = raw_request(random, access.token)
        cut = random.randrange(len(sent)) if sent and random.random() < 0.3 else 0
        reader, writer = await access.connect()
        if cut:
            writer.write(sent[:cut])
            await asyncio.sleep(0)
        writer.write(sent[cut:])
        if random.random() < 0.5:
            await _read_answers(reader, sent, answered)
        writer.transport.abort()
    assert 400 in answered


async def _read_answers(reader: asyncio.StreamReader, sent: bytes, answered: set[int]) -> None:
    """Until the server closes or has no more to say."""
    try:
        async with asyncio.timeout(0.2):
            answer = await read_answer(reader, is_head=b"HEAD" in sent)
            while "transfer-encoding" not in answer.headers:
                _check(answer, sent)
                answered.add(answer.status)
                answer = await read_answer(reader, is_head=b"HEAD" in sent)
    except (TimeoutError, EOFError, OSError):
        return


async def _is_well(access: Access, server: UpProcess) -> None:
    async with WireClient(access) as client:
        assert (await client.ask("GET", "/readyz")).body == b"ok"
        document = json.dumps(fine(KINDS.CONFIG_MAP, "well", "kube-public")).encode()
        path = "/api/v1/namespaces/kube-public/configmaps"
        assert (await client.ask("POST", path, document, {"Content-Type": "application/json"})).status == 201
        assert (await client.ask("GET", f"{path}/well")).json["data"] == {"a": "b"}
        assert (await client.ask("DELETE", f"{path}/well")).status == 200
    for complaint in ("Traceback", "Request failed", "Stream failed", "could not"):
        assert complaint not in server.output, server.output[-5000:]


def _megabytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) // 1024


def _files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def _fuzz(directory: Path, seed: int, whole: int, cut: int) -> None:
    options = ("--ephemeral", "--nodes", "2", "--feature-gates", "AllAlpha=true,AllBeta=true")
    with UpProcess(directory, *options) as server:
        access = Access(server.kubeconfig)
        before = _files(server.pid)
        for send, count in ((_send_whole, whole), (_send_bytes, cut)):
            seeds = range(seed, seed + _BESIDE)
            await asyncio.gather(*(send(access, number, count // _BESIDE) for number in seeds))
            await _is_well(access, server)
        assert _megabytes(server.pid) < _MAX_MEGABYTES
        assert _files(server.pid) < before + _MAX_FILES
        assert server.terminate() == 0
        assert "Traceback" not in server.output


def test_the_server_stays_well(tmp_path: Path) -> None:
    asyncio.run(asyncio.wait_for(_fuzz(tmp_path, 100, whole=1_600, cut=800), _PATIENCE))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [200, 300])
def test_the_server_stays_well_for_longer(tmp_path: Path, seed: int) -> None:
    asyncio.run(asyncio.wait_for(_fuzz(tmp_path, seed, whole=16_000, cut=4_000), 4 * _PATIENCE))
