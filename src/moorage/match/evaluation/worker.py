"""Run the worker process: read questions from stdin, write answers to stdout, and end when stdin does.

A message is four bytes of length and JSON: in comes a list of questions, out come their answers one by one, and an
empty list when as many are answered as fit into a turn. Started as `python -m moorage.match.evaluation.worker`.
"""

import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

import msgspec

from moorage.match.evaluation.accounts import TAINT, CelAnswer, CelQuestion, evaluate_taint
from moorage.match.evaluation.taint_expressions import not_compiled
from moorage.match.tolerations import ProgramCache
from moorage.model.types.node import Taint

#: How long one turn may take before the next account has its turn.
TURN_SECONDS = 0.1
#: What compiling costs, for each character, in the units of evaluation.
COST_OF_COMPILING = 50
_NICENESS = 10
#: How the answer to a question begins on which the worker itself failed.
INTERNAL_ERROR = "internal error: "
LENGTH_BYTES = 4


def encode_message(message: Any) -> bytes:
    body = msgspec.json.encode(message)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


class Answerer:
    """Answers questions, with a cache of compiled expressions."""

    def __init__(self) -> None:
        self._programs = ProgramCache()
        self._by_environment: dict[str, Callable[[str, Any], CelAnswer]] = {TAINT: self._taint}

    def answer(self, question: CelQuestion) -> CelAnswer:
        """Evaluate one question; an error of ours is an answer too."""
        try:
            return self._by_environment[question.environment](question.expression, question.subject)
        except Exception as error:
            return CelAnswer(f"{INTERNAL_ERROR}{type(error).__name__}: {error}")  # logged by the parent

    def _taint(self, expression: str, subject: Any) -> CelAnswer:
        misses = self._programs.misses
        program = self._programs.get(expression)
        compiling = COST_OF_COMPILING * len(expression) if self._programs.misses > misses else 0
        if isinstance(program, list):
            return CelAnswer(not_compiled(program), compiling)
        key, value, effect = subject
        answer = evaluate_taint(program, Taint(key, value, effect))
        return answer._replace(cost=answer.cost + compiling)


def _read_exactly(stream: BinaryIO, size: int) -> bytes:
    body = b""
    while len(body) < size:
        more = stream.read(size - len(body))
        if not more:
            raise EOFError
        body += more
    return body


def _read(stream: BinaryIO, messages: "queue.SimpleQueue[list[CelQuestion]]") -> None:
    """Read until stdin ends, and end the process then, whatever it is evaluating."""
    decoder = msgspec.json.Decoder(list[tuple[str, str, Any]])
    with suppress(EOFError, OSError, msgspec.DecodeError):
        while True:
            size = int.from_bytes(_read_exactly(stream, LENGTH_BYTES), "big")
            messages.put([CelQuestion(*question) for question in decoder.decode(_read_exactly(stream, size))])
    os._exit(0)


def main() -> None:
    """Answer questions until the parent is gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # the parent ends it
        signal.signal(number, signal.SIG_IGN)
    with suppress(OSError):
        os.nice(_NICENESS)
    messages: queue.SimpleQueue[list[CelQuestion]] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, messages), daemon=True).start()
    answerer, out = Answerer(), sys.stdout.buffer
    while True:
        questions = messages.get()
        until = time.monotonic() + TURN_SECONDS
        try:
            for question in questions:
                answer = answerer.answer(question)
                out.write(encode_message([answer.value, answer.cost]))
                out.flush()
                if time.monotonic() >= until:
                    break
            out.write(encode_message([]))
            out.flush()
        except OSError:
            os._exit(0)


if __name__ == "__main__":
    main()
