"""How many creates a client gets through, 64 at a time: `python -m tests.contract.client.throughput [DATA_DIR]`.

Client and server share one process and one core here, so that the figure is what a pod costs both of them together.
"""

import asyncio
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop
from tests.contract.client.transports import TRANSPORTS, pod, running_server

from moorage.client.protocol import Client
from moorage.model.kinds import KINDS

AT_ONCE = 64
EACH = 100


async def _create(client: Client, prefix: str, worker: int) -> None:
    for number in range(EACH):
        await client.create(KINDS.POD, pod(f"{prefix}-{worker}-{number}"))


async def measure(data_dir: Path | None) -> None:
    with TemporaryDirectory() as directory:
        for name, connect in TRANSPORTS.items():
            async with running_server(data_dir) as server:
                client = connect(server, Path(directory))
                await _create(client, f"{name}-warm", 0)
                wall, used = time.perf_counter(), time.process_time()
                await asyncio.gather(*(_create(client, name, worker) for worker in range(AT_ONCE)))
                wall, used = time.perf_counter() - wall, time.process_time() - used
                count = AT_ONCE * EACH
                print(f"{name}: {count / wall:.0f} creates/s, {used / count * 1e6:.0f} µs of CPU each")
                await client.close()


if __name__ == "__main__":
    uvloop.run(measure(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
