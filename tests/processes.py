"""Processes beside a test, which never outlive it.

A `Popen` that is dropped while its process runs, or with its pipes open, warns when it is collected: in some other
test, which then fails.
"""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a command; at the end of the block it is killed if it still runs, and its pipes are closed."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()
