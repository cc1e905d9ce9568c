"""Import everything, then fork a process for each generation of the input: it loads, builds and settles the cluster.

The server sends `{"load": NUMBER}` with three sockets: the channels of the process that holds the cluster as built and
of the one that holds it settled, and one on which it sends the spec. Each tells on its channel `{"ready": true, …}` or
`{"problem": "…"}`, then answers questions. All of them are one process group, which ends with the server.
"""

import argparse
import gc
import importlib
import os
import selectors
import signal
import socket
import time
import traceback

from moorage.dashboard.questions.base import Base
from moorage.dashboard.simulator.answering import SETTLED, Questions, serve_questions
from moorage.dashboard.simulator.children import Children, end_with
from moorage.dashboard.simulator.commands import Commands
from moorage.dashboard.simulator.spec import BadInput, audited_planner_of, planner_of, problem_of, spec_from


def main() -> None:
    """Serve the socket whose number is the first argument, until its other end is closed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("channel", type=int)
    parser.add_argument("--questions", default="moorage.dashboard.questions")
    parser.add_argument("--memory", type=int, default=2 << 30)
    options = parser.parse_args()
    commands = Commands(socket.socket(fileno=options.channel))
    table = importlib.import_module(options.questions)
    table.preload()
    gc.disable()  # a cluster makes a million objects and no garbage to speak of
    gc.freeze()
    try:
        _serve(commands, table.QUESTIONS, options.memory)
    finally:
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)  # and all that were forked from it


def _serve(commands: Commands, questions: Questions, memory: int) -> None:
    children = Children()
    selector = selectors.DefaultSelector()
    selector.register(commands.socket, selectors.EVENT_READ)
    selector.register(children.bell, selectors.EVENT_READ)
    commands.send({"ready": True})
    while True:
        ready = {key.fileobj for key, _ in selector.select()}
        if children.bell in ready:
            for number, why in children.reap():
                commands.send({"ended": number, "why": why})
        if commands.socket in ready:
            received = commands.receive()
            if received is None:
                return
            for command in received:
                _fork_generation(commands, children, command["load"], questions, memory)


def _fork_generation(commands: Commands, children: Children, number: int, questions: Questions, memory: int) -> None:
    built, settled, sender = commands.take(), commands.take(), commands.take()

    def work() -> None:
        commands.close()
        _Generation(built, settled, questions, memory).run(sender)

    try:
        children.fork(number, work)
    finally:
        for one in (built, settled, sender):
            one.close()


class _Generation:
    """One generation, from its spec to the end of its questions."""

    def __init__(self, built: socket.socket, settled: socket.socket, questions: Questions, memory: int) -> None:
        self._built, self._settled = Commands(built), Commands(settled)
        self._questions, self._memory = questions, memory
        self._start = time.monotonic()

    def run(self, sender: socket.socket) -> None:
        end_with(self._built.socket)
        try:
            with sender, sender.makefile("rb") as lines:
                spec = spec_from(lines)
            planner = planner_of(spec)
            # Objects of a live cluster were not refused for their gates: an audit takes what was loaded.
            audited = (lambda: audited_planner_of(spec)) if spec.live is None else None
            base = Base(planner, planner.build(), with_all_gates=audited)
            problem = problem_of(planner, spec)
        except (BadInput, EOFError) as error:
            self._built.send({"problem": str(error)})
            return
        except MemoryError:
            self._built.send({"problem": "there is not enough memory to load the cluster"})
            return
        except Exception as error:
            self._built.send(_unexpected(error))
            return
        gc.freeze()
        children = Children()
        children.fork(SETTLED, lambda: self._settle(base))
        self._settled.close()
        self._tell_ready(self._built, problem)
        serve_questions(self._built, base, self._questions, self._memory, children)

    def _settle(self, base: Base) -> None:
        self._built.close()
        end_with(self._settled.socket)
        try:
            base.outcome = base.planner.plan(base.simulation)
            base.simulation.scheduling.catch_up()
        except Exception as error:
            self._settled.send(_unexpected(error))
            return
        gc.freeze()
        self._tell_ready(self._settled, "")
        serve_questions(self._settled, base, self._questions, self._memory)

    def _tell_ready(self, commands: Commands, problem: str) -> None:
        seconds = round(time.monotonic() - self._start, 3)
        commands.send({"ready": True, "about": problem, "seconds": seconds, "pid": os.getpid()})


def _unexpected(error: Exception) -> dict[str, str]:
    said = f"{type(error).__name__}: {error}".splitlines()[0]
    return {"problem": f"unexpected error: {said}", "traceback": traceback.format_exc()}
