"""`moorage ARGUMENTS…` as a process that need not import anything: a fork of the one that runs the tests.

For tests of what a command says; those of how a process starts, is interrupted or ends run the installed program.
"""

import atexit
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import IO

# What the commands import when they run, imported once for all of them.
import moorage.cli.commands.explain
import moorage.cli.commands.lint
import moorage.cli.commands.plan
import moorage.cli.main
import moorage.plan.outcome  # noqa: F401
from moorage import __main__ as program

#: Seconds after which a command hangs.
_PATIENCE = 120
MOORAGE = str(Path(sys.executable).with_name("moorage"))


def forked_moorage(arguments: Sequence[str], stdin: str = "") -> "subprocess.CompletedProcess[str]":
    """Run a command with standard files of its own, and return what it wrote and its exit code."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        process = os.fork()
        if process == 0:
            _be_the_command(arguments, (given, out, err))
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess([MOORAGE, *arguments], code, out.read().decode(), err.read().decode())


def _be_the_command(arguments: Sequence[str], files: "tuple[IO[bytes], ...]") -> None:
    code = 1
    try:
        signal.alarm(_PATIENCE)
        atexit._clear()  # what the tests remove when they end is still theirs
        for number, file in enumerate(files):
            os.dup2(file.fileno(), number)
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
        sys.argv = [MOORAGE, *arguments]
        sys.modules["__main__"] = program
        vars(program)["__package__"] = None  # click names the program by it
        program.main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
