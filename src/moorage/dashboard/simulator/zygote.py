"""Import everything, then fork a process for each generation of the input: it loads, builds and settles the cluster.

The server sends `{"load": NUMBER}` with three sockets: the channels of the process that holds the cluster as built and
of the one that holds it settled, and one on which it sends the spec. Each tells on its channel `{"ready": true, …}` or
`{"problem": "…"}`, then answers questions. All of them are one process group, which ends with the server.

`{"reader": true}` with a socket forks a process that takes such commands on that socket and remembers how objects of a
live cluster were admitted: of the next generation only what has changed is admitted.
"""

import argparse
import gc
import importlib
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable
from contextlib import suppress

from moorage.dashboard.questions.base import Base
from moorage.dashboard.simulator.answering import SETTLED, Questions, received_by, serve_questions
from moorage.dashboard.simulator.channel import Commands
from moorage.dashboard.simulator.children import Children, end_with, stop_looking
from moorage.dashboard.simulator.spec import (
    BadInput,
    InputSpec,
    audited_planner_of,
    planner_of,
    problem_of,
    spec_from,
)
from moorage.dashboard.state.progress import Progress, Teller
from moorage.model.kinds import KINDS
from moorage.plan.input.admitted.known_objects import KnownObjects
from moorage.plan.planner import Planner


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
        _Forker(commands, table.QUESTIONS, options.memory).serve()
    finally:
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)  # and all that were forked from it


class _Forker:
    """Forks generations. One that has `known` objects reads the input itself, so that the next one knows them, too."""

    def __init__(
        self, commands: Commands, questions: Questions, memory: int, known: KnownObjects | None = None
    ) -> None:
        self._commands, self._questions, self._memory, self._known = commands, questions, memory, known

    def serve(self) -> None:
        """Work until the server closes its end."""
        children = Children()
        self._commands.send({"ready": True})
        for command in received_by(self._commands, children):
            if "reader" in command:
                self._fork_reader(children)
            else:
                self._fork_generation(children, command["load"])

    def _fork_reader(self, children: Children) -> None:
        channel = self._commands.take()

        def work() -> None:
            self._commands.close()
            _Forker(Commands(channel), self._questions, self._memory, KnownObjects()).serve()

        with channel, suppress(OSError):  # the server sees that there is none
            children.fork("reader", work)

    def _fork_generation(self, children: Children, number: int) -> None:
        built, settled, sender = (self._commands.take() for _ in range(3))
        generation = _Generation(built, settled, self._questions, self._memory)
        try:
            if self._known is not None:
                end_with(built, self._commands.socket)
                is_read = generation.read(sender, self._known)
                stop_looking()
                if not is_read:
                    return

            def work() -> None:
                self._commands.close()
                generation.run(sender)

            children.fork(number, work)
        except OSError as error:  # no process can be made now, or the server is gone
            with suppress(OSError):
                Commands(built).send({"problem": f"a process for the cluster cannot be started: {error}"})
        finally:
            for channel in (built, settled, sender):
                channel.close()


def _telling(commands: Commands) -> Callable[[Progress], None]:
    """Return what tells the server how far this process is."""
    return lambda progress: commands.send({"progress": [progress.phase, progress.done, progress.total]})


class _Generation:
    """One generation, from its spec to the end of its questions."""

    def __init__(self, built: socket.socket, settled: socket.socket, questions: Questions, memory: int) -> None:
        self._built, self._settled = Commands(built), Commands(settled)
        self._questions, self._memory = questions, memory
        self._start = time.monotonic()
        self._read: tuple[InputSpec, Planner] | None = None
        self._phase = "Simulating"

    def read(self, sender: socket.socket, known: KnownObjects | None = None) -> bool:
        """Read the input. Return whether it can be simulated; the server is told why not."""
        try:
            with sender, sender.makefile("rb") as lines:
                spec = spec_from(lines)
            phase = "Reading files" if spec.live is None else f"Reading {len(spec.objects):,} objects"
            self._read = spec, planner_of(spec, known, Teller(_telling(self._built), phase).tick)
        except Exception as error:
            self._built.send(_problem(error))
        return self._read is not None

    def run(self, sender: socket.socket) -> None:
        """Hold the cluster and answer questions, in a process of its own."""
        end_with(self._built.socket)
        if self._read is None and not self.read(sender):
            return
        assert self._read is not None
        spec, planner = self._read
        try:
            # Objects of a live cluster were not refused for their gates: an audit takes what was loaded.
            nodes, pods = (len(list(planner.inventory.of_kind(kind))) for kind in (KINDS.NODE.name, KINDS.POD.name))
            if nodes + pods:
                self._phase = f"Simulating {nodes:,} nodes" + (f" and {pods:,} pods" if pods else "")
            Teller(_telling(self._built), self._phase)
            audited = (lambda: audited_planner_of(spec)) if spec.live is None else None
            base = Base(planner, planner.build(), with_all_gates=audited)
            gc.freeze()
            children = Children()
            children.fork(SETTLED, lambda: self._settle(base))
        except Exception as error:
            self._built.send(_problem(error))
            return
        self._settled.close()
        self._tell_ready(self._built, problem_of(planner, spec))
        serve_questions(self._built, base, self._questions, self._memory, children)

    def _settle(self, base: Base) -> None:
        self._built.close()
        end_with(self._settled.socket)
        try:
            teller = Teller(_telling(self._settled), f"{self._phase}, placing pods")
            base.outcome = base.planner.plan(base.simulation, teller.tick)
            base.simulation.scheduling.placed = lambda: None
            base.simulation.scheduling.catch_up()
        except Exception as error:
            self._settled.send(_problem(error))
            return
        gc.freeze()
        self._tell_ready(self._settled, "")
        serve_questions(self._settled, base, self._questions, self._memory)

    def _tell_ready(self, commands: Commands, problem: str) -> None:
        seconds = round(time.monotonic() - self._start, 3)
        commands.send({"ready": True, "about": problem, "seconds": seconds, "pid": os.getpid()})


def _problem(error: Exception) -> dict[str, str]:
    """Return what the server is told of an error; one that is not foreseen comes with its traceback."""
    if isinstance(error, BadInput | EOFError):
        return {"problem": str(error)}
    if isinstance(error, MemoryError):
        return {"problem": "there is not enough memory to load the cluster"}
    summary = f"{type(error).__name__}: {error}".splitlines()[0]
    return {"problem": f"unexpected error: {summary}", "traceback": traceback.format_exc()}


if __name__ == "__main__":
    main()
