"""Record what clients asked for, when, and what they were told: the history that is checked afterwards.

The object under test is a document that is a set of tokens: each write adds a token of its own, so that every state
tells which writes are in it. A state is the set of tokens, or None where there is no object. Times are seconds of one
monotonic clock, that of the process that runs the load.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

State = frozenset[str] | None


class Action(Enum):
    """What a client asked for. UPDATE and a DELETE with `expected` name the revision that they replace."""

    CREATE = "create"
    READ = "read"
    UPDATE = "update"
    PATCH = "patch"
    DELETE = "delete"


class Fate(Enum):
    """What the client knows. REFUSED by a rule (404, 409); FAILED: it surely has not happened; UNKNOWN: it may have."""

    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Operation(NamedTuple):
    """One request. `state` and `revision` are what the answer shows, after the operation."""

    key: str
    action: Action
    begun: float
    ended: float
    fate: Fate
    token: str = ""
    #: What an UPDATE or DELETE must find, by the client's last answer, and at which revision; 0: whatever there is.
    expected: State = None
    expected_revision: int = 0
    #: What an UPDATE writes.
    wanted: State = None
    state: State = None
    revision: int = 0
    code: int = 0
    client: str = ""
    server: str = ""

    @property
    def is_write(self) -> bool:
        return self.action is not Action.READ

    def __str__(self) -> str:
        told = f"{self.fate.value} {self.code or ''}".strip()
        shown = "" if self.fate is not Fate.DONE else f" → {show(self.state)}@{self.revision}"
        found = f" over @{self.expected_revision}" if self.expected_revision else ""
        when = f"[{self.begun:.4f}–{self.ended:.4f}]"
        return f"{when} {self.client}@{self.server} {self.action.value} {self.key} {self.token}{found}: {told}{shown}"


class Version(NamedTuple):
    """One change in the store's own history: the state of a key since `revision`."""

    revision: int
    key: str
    state: State


class Violation(NamedTuple):
    """What was promised and did not hold. `rule` is a short name to count by."""

    rule: str
    text: str


def show(state: State) -> str:
    return "absent" if state is None else "{" + ",".join(sorted(state)) + "}"


def by_key(operations: Iterable[Operation]) -> dict[str, list[Operation]]:
    found: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        found[operation.key].append(operation)
    return found


def write_history(path: Path, facts: dict[str, Any], operations: Iterable[Operation], lines: Iterable[str]) -> None:
    """Write a run that violated something, for people to read: facts first, then what happened in the order of time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(facts, indent=2, default=str) + "\n\n")
        file.writelines(f"{line}\n" for line in lines)
        file.write("\n# operations\n")
        file.writelines(f"{operation}\n" for operation in sorted(operations, key=lambda one: one.begun))
