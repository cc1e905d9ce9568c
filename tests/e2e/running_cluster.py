"""A real `moorage up`, for tests that talk to it as users do.

In: a directory and options of the command. Out: a running process, its kubeconfig and its output; it is stopped with
SIGTERM and must end cleanly. Nothing is polled: the process says on its output when it is ready.
"""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

READY = "The cluster is ready at "
STOP_SECONDS = 120


class Cluster(NamedTuple):
    """What is known of a cluster that runs."""

    url: str
    kubeconfig: Path
    home: Path
    process: "subprocess.Popen[str]"


@contextmanager
def moorage_up(directory: Path, *options: str) -> Iterator[Cluster]:
    """Nothing is kept, unless the options name a `--data-dir`."""
    kubeconfig, log = directory / "kubeconfig", directory / "moorage.log"
    keeps = () if "--data-dir" in options else ("--ephemeral",)
    command = [sys.executable, "-m", "moorage", "up", "-v", "0", "--port", "0", "--write-kubeconfig", str(kubeconfig)]
    with (
        log.open("w+") as errors,
        subprocess.Popen([*command, *keeps, *options], stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            url = _url(process, errors)
            assert kubeconfig.exists(), "the kubeconfig must be there when the cluster is ready"
            yield Cluster(url, kubeconfig, directory, process)
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


def _url(process: "subprocess.Popen[str]", errors: IO[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        _, found, rest = line.partition(READY)
        if found:
            return rest.split(",")[0].strip()
    raise AssertionError(f"moorage up has ended:\n{_text(errors)}")


def _text(file: IO[str]) -> str:
    file.seek(0)
    return file.read()
