"""`moorage ARGUMENTS…` as a process that need not import anything: a fork of one that has imported it all.

That process is multiprocessing's fork server, not the one that runs the tests: a process with threads cannot be forked
safely (NumPy's may hold a lock for which the fork then waits forever). For tests of what a command says; those of how
a process starts, is interrupted or ends run the installed program.
"""

import atexit
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from functools import cache
from multiprocessing.context import ForkServerContext
from pathlib import Path

#: Seconds after which a command hangs.
_PATIENCE = 120
_JOIN_SECONDS = 2 * _PATIENCE
#: What the commands import when they run, imported once for all of them.
_PRELOADED = (
    "moorage.__main__",
    "moorage.cli.main",
    "moorage.cli.commands.explain",
    "moorage.cli.commands.gates",
    "moorage.cli.commands.lint",
    "moorage.cli.commands.plan",
    "moorage.plan.outcome",
)
MOORAGE = str(Path(sys.executable).with_name("moorage"))


@cache
def _fork_server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*_PRELOADED, __name__])
    return context


def forked_moorage(
    arguments: Sequence[str], stdin: str | bytes | None = "", cwd: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command with standard files of its own, and return what it wrote and its exit code.

    Without `stdin` its standard input is /dev/null, which is not the same as an empty file.
    """
    given = stdin.encode() if isinstance(stdin, str) else stdin
    with tempfile.TemporaryDirectory() as directory:
        files = [Path(directory, name) for name in ("stdin", "stdout", "stderr")]
        for file, content in zip(files, (given, b"", b""), strict=True):
            if content is None:
                file.symlink_to(os.devnull)
            else:
                file.write_bytes(content)
        place = list(arguments), files, str(cwd or Path.cwd()), dict(os.environ)
        process = _fork_server().Process(target=_be_the_command, args=place)
        process.start()
        process.join(_JOIN_SECONDS)
        if process.exitcode is None:
            process.kill()
            process.join()
        code = process.exitcode
        process.close()
        assert code is not None
        out, err = (file.read_text(encoding="utf-8") for file in files[1:])
        return subprocess.CompletedProcess([MOORAGE, *arguments], code, out, err)


def _be_the_command(
    arguments: Sequence[str], files: Sequence[Path], directory: str, environment: dict[str, str]
) -> None:
    code = 1
    try:
        os.environ.clear()
        os.environ.update(environment)
        signal.alarm(_PATIENCE)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # the fork server ignores it
        atexit._clear()
        os.chdir(directory)
        for number, file in enumerate(files):
            opened = os.open(file, os.O_RDWR)
            os.dup2(opened, number)
            os.close(opened)
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
        sys.argv = [MOORAGE, *arguments]
        program = sys.modules["moorage.__main__"]
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
