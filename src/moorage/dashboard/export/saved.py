"""Collect what a saved page shows: the rows of its map, and answers to the questions that its views ask.

Questions that spoil their simulation are answered in a forked copy of the process.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from moorage.dashboard.questions import QUESTIONS
from moorage.dashboard.questions.base import Base, Part, parts_of
from moorage.dashboard.questions.rows import rows
from moorage.dashboard.state.page_names import page_names
from moorage.lint.sources import STDIN, STDIN_NAME
from moorage.plan.input.inventory import Inventory
from moorage.plan.simulation.forked import CopyFailed, in_fork

#: This many groups of pending pods are explained, and this many nodes have all that their pages show.
MAX_EXPLAINED, MAX_NODES = 25, 200
#: What JavaScript's encodeURIComponent leaves alone, besides letters and digits.
_UNQUOTED = "-_.!~*'()"

Document = dict[str, Any]
_canonical = msgspec.json.Encoder(order="sorted")


class SavedAnswers:
    """Answers by question and arguments, as the front end looks for them."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Part]] = {}

    def put(self, question: str, arguments: Document, parts: list[Part]) -> None:
        self.answers[f"{question} {_canonical.encode(arguments).decode()}"] = parts

    def ask(self, question: str, arguments: Document, base: Base) -> list[Part]:
        """Put the answer of a question that changes nothing, and return it."""
        parts = list(parts_of(QUESTIONS[question], base, arguments))
        self.put(question, arguments, parts)
        return parts

    def ask_a_copy(self, question: str, arguments: Document, base: Base, **unsaid: Any) -> list[Part]:
        """Put the answer of a question that may spoil its simulation, and return it.

        `unsaid` are further arguments, which the view does not name when it looks for the answer.
        """
        try:
            parts: list[Part] = in_fork(lambda: list(parts_of(QUESTIONS[question], base, arguments | unsaid)))
        except CopyFailed as error:
            parts = [{"error": str(error), "done": True}]
        self.put(question, arguments, parts)
        return parts

    def explain_pending(self, base: Base) -> None:
        """Put the groups of pending pods, and explanations of one pod of each."""
        groups = self.ask("pending", {}, base)[0].get("groups", ())
        for group in groups[:MAX_EXPLAINED]:
            self.ask_a_copy("explain-pending", {"pod": group["example"]}, base)

    def tell_story(self, base: Base, until: float | None) -> None:
        """Put what happens until a cluster that was only built comes to rest, or until `seconds` have passed."""
        self.ask_a_copy("story", {}, base, until=until)

    def describe_nodes(self, base: Base) -> None:
        """Put what the pages of the nodes show, unless there are very many."""
        names = [node.metadata.name for _, node in base.simulation.cluster.nodes]
        for name in names if len(names) <= MAX_NODES else ():
            details = list(parts_of(QUESTIONS["details"], base, {"node": name}))
            self.answers[f"GET /api/node/{quote(name, safe=_UNQUOTED)}"] = details


def state_of(base: Base, paths: Sequence[str]) -> Document:
    """Return the state of the map; `paths` are what the cluster was read from, unless it is a live one."""
    inventory = base.planner.inventory
    source = {
        "kind": "live" if inventory.is_live else "files",
        "name": _server(inventory) or ", ".join(map(_shown, paths)),
        "connected": True,
        "problem": "",
        "time": time.time(),
        "elapsed": base.simulation.clock.elapsed,  # what deadlines of pods are counted from
    }
    return {"seq": 0, "source": source, "names": page_names(), **rows(base.simulation)}


def address(view: str, **parameters: str) -> str:
    """Return where a saved page begins."""
    query = urlencode({name: value for name, value in parameters.items() if value})
    return f"#/{view}?{query}" if query else f"#/{view}"


def _shown(path: str) -> str:
    return STDIN_NAME if path == STDIN else Path(path).name or Path(path).resolve().name


def _server(inventory: Inventory) -> str:
    if not inventory.is_live:
        return ""
    return next((item.place.source for item in inventory.items.values()), "")
