"""What a call to etcd costs this process: our own client, and grpcio where it is installed.

`python -m bench.etcd_client` starts an etcd of its own, and a process for each client. Both send the same bytes, so
that the difference is the transport: writes with 100 under way, one after another, a watch over what was written.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

import uvloop
from tests.etcd_process import etcd_cluster

from bench.process import ENVIRONMENT, ROOT, peak_memory
from moorage.store.etcd.messages import Compare, Get, Put
from moorage.store.etcd.settings import EtcdSettings
from moorage.store.etcd.wire.answers import decode_txn, decode_watch
from moorage.store.etcd.wire.requests import encode_txn, encode_watch

VALUE = bytes(range(256)) * 4
WRITES, UNDER_WAY, SINGLE, WARM_UP = 20_000, 100, 1_000, 500
WATCHED = 10_000
PREFIX, END = b"/bench/", b"/bench0"


class Client(Protocol):
    async def put(self, key: bytes, value: bytes) -> int:
        """Write a key that must not exist, in a transaction, and return the revision."""
        ...

    async def watch(self, start: int, events: int) -> None:
        """Read this number of events under the prefix."""
        ...

    async def close(self) -> None: ...


class OwnClient:
    @classmethod
    async def connect(cls, url: str) -> OwnClient:
        from moorage.store.etcd.client import EtcdClient

        client = cls()
        client.etcd = await EtcdClient.connect(EtcdSettings(servers=(url,)))
        return client

    etcd: Any

    async def put(self, key: bytes, value: bytes) -> int:
        result = await self.etcd.txn((Compare(key, 0),), (Put(key, value),), (Get(key),))
        assert result.succeeded
        return int(result.revision)

    async def watch(self, start: int, events: int) -> None:
        watch = self.etcd.watch(PREFIX, END, start)
        while events > 0:
            events -= len((await watch.next()).events)
        watch.close()

    async def close(self) -> None:
        await self.etcd.close()


class GrpcioClient:
    """grpcio.aio without generated stubs: bytes in, bytes out, and our own protobuf."""

    @classmethod
    async def connect(cls, url: str) -> GrpcioClient:
        import grpc.aio  # type: ignore[import-untyped, import-not-found, unused-ignore]

        client = cls()
        client.channel = grpc.aio.insecure_channel(url.removeprefix("http://"))
        client.txn = client.channel.unary_unary("/etcdserverpb.KV/Txn")
        client.stream = client.channel.stream_stream("/etcdserverpb.Watch/Watch")
        return client

    channel: Any
    txn: Any
    stream: Any

    async def put(self, key: bytes, value: bytes) -> int:
        answer = await self.txn(encode_txn((Compare(key, 0),), (Put(key, value),), (Get(key),)))
        return decode_txn(answer).revision

    async def watch(self, start: int, events: int) -> None:
        call = self.stream()
        await call.write(encode_watch(PREFIX, END, start))
        while events > 0:
            events -= len((await decode_watch(await call.read())).events)
        call.cancel()

    async def close(self) -> None:
        await self.channel.close()


CLIENTS: dict[str, Any] = {"own": OwnClient, "grpcio": GrpcioClient}


async def measure(connect: Any, url: str, name: str, started: tuple[float, float]) -> dict[str, Any]:
    """Return the figures of one client; `started` is the CPU time and memory before it was imported."""
    client: Client = await connect(url)
    prefix = PREFIX + name.encode()
    first = await client.put(prefix + b"/first", VALUE)
    ready = (time.process_time() - started[0], peak_memory() - started[1])
    for number in range(WARM_UP):
        await client.put(b"%b/warm/%d" % (prefix, number), VALUE)

    numbers = iter(range(WRITES))

    async def write() -> None:
        for number in numbers:
            await client.put(b"%b/many/%d" % (prefix, number), VALUE)

    clock, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(write() for _ in range(UNDER_WAY)))
    many = (time.perf_counter() - clock, time.process_time() - cpu)

    latencies = []
    cpu = time.process_time()
    for number in range(SINGLE):
        clock = time.perf_counter()
        await client.put(b"%b/single/%d" % (prefix, number), VALUE)
        latencies.append(time.perf_counter() - clock)
    single_cpu = time.process_time() - cpu
    latencies.sort()

    clock, cpu = time.perf_counter(), time.process_time()
    await client.watch(first, WATCHED)
    watched = (time.perf_counter() - clock, time.process_time() - cpu)
    await client.close()
    return {
        "first call, CPU ms": 1e3 * ready[0],
        "first call, MiB": ready[1] / 2**20,
        "writes/s": WRITES / many[0],
        "CPU µs/write": 1e6 * many[1] / WRITES,
        "one write µs": 1e6 * latencies[len(latencies) // 2],
        "p99 µs": 1e6 * latencies[len(latencies) * 99 // 100],
        "CPU µs/one": 1e6 * single_cpu / SINGLE,
        "events/s": WATCHED / watched[0],
        "CPU µs/event": 1e6 * watched[1] / WATCHED,
        "peak MiB": peak_memory() / 2**20,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--client", help=argparse.SUPPRESS)
    parser.add_argument("--server", default="", help="an etcd that runs already, which is written to")
    options = parser.parse_args()
    if options.client:
        started = (time.process_time(), float(peak_memory()))
        figures = uvloop.run(measure(CLIENTS[options.client].connect, options.server, options.client, started))
        print(json.dumps(figures))
        return
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        if options.server:
            _compare(options.server)
        else:
            with etcd_cluster(Path(folder)) as etcd:
                _compare(etcd.urls[0])


def _compare(url: str) -> None:
    rows = {}
    for name in CLIENTS:
        if name != "own" and importlib.util.find_spec("grpc") is None:
            continue
        command = [sys.executable, "-m", "bench.etcd_client", "--client", name, "--server", url]
        run = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, check=True, capture_output=True, text=True)
        rows[name] = json.loads(run.stdout)
    print(f"| | {' | '.join(rows)} |\n|---|{'---:|' * len(rows)}")
    for what in next(iter(rows.values())):
        print(f"| {what} | {' | '.join(f'{row[what]:,.1f}' for row in rows.values())} |")


if __name__ == "__main__":
    main()
