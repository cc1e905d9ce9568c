"""Questions that break what answers them: a table like that of the dashboard."""

import os
import signal
from collections.abc import Iterator
from typing import Any

from moorage.dashboard.questions import QUESTIONS as REAL
from moorage.dashboard.questions import Base, Question, preload
from moorage.dashboard.questions.base import Part

__all__ = ["QUESTIONS", "preload"]


def die(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    yield {"begun": True}
    os.kill(os.getpid(), signal.SIGKILL)


def fail(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    yield arguments["a bug\nwith two lines"]


def hang(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    yield {"pid": os.getpid()}
    while True:
        pass


def devour(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    yield {"size": len(bytearray(8 << 30))}


def spoil(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Count the nodes, and remove them."""
    names = [item.key for item in base.planner.inventory.of_kind("Node")]
    for key in names:
        del base.planner.inventory.items[key]
    yield {"nodes": len(names), "done": True}


def much(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    for number in range(arguments["parts"]):
        yield {"number": number, "text": "x" * arguments["size"]}


def kill_holder(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
    yield {}


def seed(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    settings = base.planner.settings
    yield {
        "seed": settings.seed,
        "namespace": settings.namespace,
        "profiles": [one.name for one in settings.configuration.profiles],
        "pid": os.getppid(),
        "done": True,
    }


QUESTIONS = {
    **REAL,
    "die": Question(die, True),
    "fail": Question(fail, True),
    "hang": Question(hang, True),
    "devour": Question(devour, True),
    "spoil": Question(spoil, True),
    "much": Question(much, False),
    "kill-holder": Question(kill_holder, True),
    "settings": Question(seed, False),
    "settled-settings": Question(seed, True),
}
