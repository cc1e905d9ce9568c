"""Time that waits for nobody: an event loop whose clock jumps to the next timer when nothing is ready.

`run_virtual(main())` runs a coroutine in it, `time_of_day` is the clock to pass to whatever asks for one: it starts at
`BASE` and moves with the loop. `virtual_cluster` is an API server in memory with controllers, in such a loop.
"""

import asyncio

from tests.unit.client.virtual_time import VirtualTimeLoop
from tests.unit.client.virtual_time import run_in_virtual_time as run_virtual

__all__ = ["BASE", "VirtualTimeLoop", "run_virtual", "time_of_day"]

#: 2026-01-01T00:00:00Z
BASE = 1_767_225_600.0


def time_of_day() -> float:
    """Seconds since 1970, as of the running loop."""
    return BASE + asyncio.get_running_loop().time()
