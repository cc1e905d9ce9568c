"""Hold a simulated cluster, and answer each question about it in a fork of this process.

The server sends `{"ask": NUMBER}` with a socket, on which the child reads the question and writes the parts of its
answer, and `{"cancel": NUMBER}`. It is told `{"ended": NUMBER, "why": "…"}` when the child is gone.
"""

import resource
import selectors
import socket
import traceback
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from moorage.dashboard.questions.base import Base, Part, Question, parts_of
from moorage.dashboard.simulator.channel import Commands
from moorage.dashboard.simulator.children import Children, end_with, stop_looking

Questions = Mapping[str, Question]
#: More bytes of arguments are no question.
MAX_ARGUMENTS = 16 << 20
#: The number of the child that is no question: the process with the settled cluster.
SETTLED = "settled"
_CHUNK = 65_536
_LAST_TO_GO, _FIRST_TO_GO = 300, 1000  # for the kernel, when memory runs out


def received_by(commands: Commands, children: Children) -> Iterator[dict[str, Any]]:
    """Yield commands until the server closes its end, and report to it how children end. Raises OSError."""
    with selectors.DefaultSelector() as selector:
        selector.register(commands.socket, selectors.EVENT_READ)
        selector.register(children.bell, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in selector.select()}
            if children.bell in ready:
                for number, why in children.reap():
                    commands.send({"ended": number, "why": why})
            if commands.socket in ready:
                received = commands.receive()
                if received is None:
                    return
                yield from received


def serve_questions(
    commands: Commands, base: Base, questions: Questions, memory: int, children: Children | None = None
) -> None:
    """Answer until the server closes its end; no child is left then. `memory` is what an answer may add, in bytes."""
    stop_looking()
    children = children or Children()
    _prefer_to_lose(_LAST_TO_GO)
    try:
        for command in received_by(commands, children):
            if "ask" in command:
                _fork_answer(commands, children, command["ask"], base, questions, memory)
            elif "cancel" in command:
                children.kill(command["cancel"])
    except OSError:
        return  # the server is gone
    finally:
        children.kill_all()


def _fork_answer(
    commands: Commands, children: Children, number: int, base: Base, questions: Questions, memory: int
) -> None:
    asker = commands.take()

    def work() -> None:
        commands.close()
        end_with(asker)
        _prefer_to_lose(_FIRST_TO_GO)
        _limit_memory(memory)
        with suppress(OSError):  # the server has heard enough
            answer(asker, base, questions)

    try:
        children.fork(number, work)
    except OSError as error:
        with suppress(OSError):
            asker.sendall(_line({"error": f"a process for the answer cannot be started: {error}", "done": True}))
    finally:
        asker.close()


def answer(asker: socket.socket, base: Base, questions: Questions) -> None:
    """Read a question, and write the parts of its answer and how far it is. Raises OSError if nothing reads them."""
    try:
        question = msgspec.json.decode(_read(asker))
        base.tell = lambda progress: asker.sendall(_line({"progress": progress}))
        for part in _parts(question["question"], question["arguments"], base, questions):
            asker.sendall(_line(part))
    except OSError:
        raise
    except MemoryError:
        asker.sendall(_line({"error": "there is not enough memory for the answer", "done": True}))
    except Exception as error:
        summary = f"{type(error).__name__}: {error}".splitlines()[0]
        part = {"error": f"unexpected error: {summary}", "done": True, "traceback": traceback.format_exc()}
        asker.sendall(_line(part))


def _parts(name: str, arguments: dict[str, Any], base: Base, questions: Questions) -> Any:
    question = questions.get(name)
    if question is None:
        yield {"error": f"there is no question {name!r}; there are {', '.join(questions)}", "done": True}
        return
    yield from parts_of(question, base, arguments)


def _line(part: Part) -> bytes:
    return msgspec.json.encode(part) + b"\n"


def _read(asker: socket.socket) -> bytes:
    chunks = bytearray()
    while chunk := asker.recv(_CHUNK):
        chunks += chunk
        if len(chunks) > MAX_ARGUMENTS:
            raise ValueError(f"the question is larger than {MAX_ARGUMENTS >> 20} MiB")
    return bytes(chunks)


def _prefer_to_lose(score: int) -> None:
    """Let the kernel end this process rather than the server, when memory runs out. Linux only."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(score), "ascii")


def _limit_memory(more: int) -> None:
    """Let this process have only this many more bytes of address space. Linux only."""
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        limit = pages * resource.getpagesize() + more
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard == resource.RLIM_INFINITY or limit < hard:
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
