"""A real `moorage dashboard` for tests: its process, and the address that lets one browser in."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

_ADDRESS = re.compile(r"http://\S+\?token=\S+")
STOP_SECONDS = 120


class RunningDashboard(NamedTuple):
    """What is known of a dashboard that runs. `address` works once."""

    address: str
    url: str
    process: "subprocess.Popen[str]"

    def next_address(self) -> str:
        """Wait for the next address that it prints."""
        return _address(self.process)


@contextmanager
def moorage_dashboard(directory: Path, *options: str, cwd: Path | None = None) -> Iterator[RunningDashboard]:
    log = directory / f"dashboard-{len(list(directory.iterdir()))}.log"
    command = [sys.executable, "-m", "moorage", "dashboard", "--no-open", "--port", "0", *options]
    with (
        log.open("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=cwd) as process,
    ):
        try:
            try:
                address = _address(process)
            except AssertionError:
                raise AssertionError(f"moorage dashboard has ended:\n{_text(errors)}") from None
            yield RunningDashboard(address, address.partition("?")[0], process)
        except BaseException:
            process.kill()
            raise
        process.send_signal(signal.SIGTERM)
        try:
            status = process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        said = _text(errors)
        assert status == 0, said
        assert "Traceback" not in said, said


def _address(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    for line in process.stdout:
        found = _ADDRESS.search(line)
        if found:
            return found.group()
    raise AssertionError("no address was printed")


def _text(file: IO[str]) -> str:
    file.seek(0)
    return file.read()
