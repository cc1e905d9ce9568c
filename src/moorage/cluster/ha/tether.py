"""Run a command that ends with the process that started it, even if that one is killed.

Run as a script: `python -I -S tether.py PARENT COMMAND...`. On Linux the kernel is asked to kill the command, which
replaces this process. Elsewhere this process stays, starts the command, and looks whether its own parent is there.
It imports nothing of the package, to start quickly.
"""

import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_LOOK_EVERY = 0.25


def main(arguments: list[str]) -> None:
    parent, command = int(arguments[0]), arguments[1:]
    if sys.platform != "linux":
        sys.exit(watch(parent, command))
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the kernel was asked
        sys.exit(1)
    try:
        os.execv(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


def watch(parent: int, command: list[str]) -> int:
    """Run the command, pass signals on, and kill it when the parent is gone."""
    import subprocess

    child = subprocess.Popen(command)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda got, frame: child.send_signal(got))
    while True:
        try:
            return child.wait(_LOOK_EVERY)
        except subprocess.TimeoutExpired:
            if os.getppid() != parent:
                child.kill()


if __name__ == "__main__":
    main(sys.argv[1:])
