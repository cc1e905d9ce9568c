"""Play clients against a simulated object, correct or broken on purpose, and record the history they would have seen.

Each request takes effect at one moment between its beginning and its end; one of unknown fate at any later moment, or
never. A broken twin does one thing wrong, once, at a moment from which on some client is sure to be told so.
"""

import random
from collections.abc import Callable
from typing import NamedTuple

from tests.faults.check.history import Action, Fate, Operation, State, Version

KEY = "x"


class Played(NamedTuple):
    """What clients saw, and what the store would show afterwards."""

    operations: list[Operation]
    versions: list[Version]


class Register:
    """One object with revisions: the truth of a simulation. Revisions grow by more than one: other objects change."""

    def __init__(self, random_: random.Random) -> None:
        self._random = random_
        self.state: State = None
        self.revision = 0
        self.newest = 0
        self.versions: list[Version] = []

    def write(self, state: State) -> None:
        self.newest += self._random.choice((1, 1, 2))
        self.state, self.revision = state, self.newest
        self.versions.append(Version(self.newest, KEY, state))

    def perform(self, asked: Operation) -> Operation:
        """Answer a request, and change the object as it asks."""
        state = self.state
        match asked.action:
            case Action.CREATE:
                if state is not None:
                    return asked._replace(fate=Fate.REFUSED, code=409)
                self.write(frozenset((asked.token,)))
            case Action.READ if state is None:
                return asked._replace(fate=Fate.REFUSED, code=404)
            case Action.READ:
                pass
            case _ if state is None:
                return asked._replace(fate=Fate.REFUSED, code=404)
            case Action.PATCH:
                assert state is not None
                self.write(state | {asked.token})
            case _ if asked.expected_revision and asked.expected_revision != self.revision:
                return asked._replace(fate=Fate.REFUSED, code=409)
            case Action.UPDATE:
                self.write(asked.wanted)
            case Action.DELETE:
                self.write(None)
        return asked._replace(fate=Fate.DONE, state=self.state, revision=self.revision)


class _Client:
    def __init__(self, name: str) -> None:
        self.name = name
        self.known: tuple[State, int] = (None, 0)

    def ask(self, random_: random.Random, actions: list[Action], token: str, begun: float) -> Operation:
        action = random_.choice(actions)
        state, revision = self.known
        if action is Action.UPDATE and state is None:
            action = Action.CREATE
        asked = Operation(KEY, action, begun, 0.0, Fate.UNKNOWN, client=self.name)
        if action in (Action.CREATE, Action.PATCH):
            return asked._replace(token=token)
        if action is Action.UPDATE:
            assert state is not None
            wanted = frozenset((*sorted(state)[:2], token))
            return asked._replace(token=token, expected=state, expected_revision=revision, wanted=wanted)
        if action is Action.DELETE and state is not None and random_.random() < 0.5:
            return asked._replace(expected=state, expected_revision=revision)
        return asked


def play(
    seed: int,
    *,
    clients: int = 4,
    requests: int = 40,
    unknown: float = 0.1,
    actions: tuple[Action, ...] = tuple(Action),
    register: Register | None = None,
    start: float = 0.0,
) -> Played:
    """Let clients send requests side by side, each one after the other."""
    random_ = random.Random(seed)
    register = register or Register(random_)
    people = [_Client(f"c{number}") for number in range(clients)]
    moments: list[tuple[float, int, Callable[[], None]]] = []
    told: list[Operation] = []
    count = 0

    def at(when: float, what: Callable[[], None]) -> None:
        nonlocal count
        count += 1
        moments.append((when, count, what))

    sent = 0

    def begin(client: _Client, when: float) -> None:
        nonlocal sent
        if sent >= requests:
            return
        sent += 1
        asked = client.ask(random_, list(actions), f"{client.name}.{start:g}.{sent}", when)
        effect = when + random_.random()
        ended = effect + random_.random()
        if random_.random() < unknown:
            told.append(asked._replace(ended=ended))
            if random_.random() < 0.6:
                at(effect + random_.choice((0.0, 0.0, 3.0)), lambda: _ignore(register.perform(asked)))
        else:
            at(effect, lambda: answer(client, register.perform(asked._replace(ended=ended))))
        at(ended + random_.random() * 0.2, lambda: begin(client, ended + 0.2))

    def answer(client: _Client, answered: Operation) -> None:
        told.append(answered)
        if answered.fate is Fate.DONE:
            client.known = answered.state, answered.revision
        elif answered.code == 404:
            client.known = None, 0

    for person in people:
        begin(person, start + random_.random())
    while moments:
        moments.sort()
        moments.pop(0)[2]()
    return Played(told, register.versions)


def _ignore(_: Operation) -> None:
    """Drop an answer that no client hears."""


# Broken twins: a correct history, then, while all is quiet, something wrong that a client is told of.


def _ask(register: Register, when: float, action: Action, token: str = "") -> Operation:
    state, revision = register.state, register.revision
    asked = Operation(KEY, action, when, when + 0.5, Fate.UNKNOWN, token=token, client="late")
    if action is Action.UPDATE:
        assert state is not None
        asked = asked._replace(expected=state, expected_revision=revision, wanted=state | {token})
    return register.perform(asked)


def _made(register: Register, when: float) -> list[Operation]:
    """Be sure that there is an object."""
    return [_ask(register, when, Action.CREATE, "made")] if register.state is None else []


def lost_write(register: Register, when: float) -> list[Operation]:
    """Acknowledge a patch and forget it."""
    told = _made(register, when)
    state, revision, versions = register.state, register.revision, len(register.versions)
    told.append(_ask(register, when + 1, Action.PATCH, "lost"))
    register.state, register.revision = state, revision
    del register.versions[versions:]
    return [*told, _ask(register, when + 2, Action.READ)]


def stale_read(register: Register, when: float) -> list[Operation]:
    """Answer a read with the state from before a write that was acknowledged earlier."""
    told = _made(register, when)
    state, revision = register.state, register.revision
    told.append(_ask(register, when + 1, Action.PATCH, "newer"))
    return [*told, _ask(register, when + 2, Action.READ)._replace(state=state, revision=revision)]


def applied_twice(register: Register, when: float) -> list[Operation]:
    """Write what an update asked for once more, after another client has changed it."""
    told = [*_made(register, when), _ask(register, when + 1, Action.UPDATE, "twice")]
    again = register.state
    told.append(_ask(register, when + 2, Action.DELETE))
    register.write(again)
    return [*told, _ask(register, when + 3, Action.READ)]


def overwritten(register: Register, when: float) -> list[Operation]:
    """Apply two updates that expect the same revision."""
    told = _made(register, when)
    state, revision = register.state, register.revision
    assert state is not None
    told.append(_ask(register, when + 1, Action.UPDATE, "first"))
    register.write(state | {"second"})
    second = Operation(KEY, Action.UPDATE, when + 2, when + 2.5, Fate.DONE, "second", state, revision, register.state)
    return [*told, second._replace(state=register.state, revision=register.revision)]


def resurrected(register: Register, when: float) -> list[Operation]:
    """Bring a deleted object back as it was."""
    told = _made(register, when)
    state = register.state
    told.append(_ask(register, when + 1, Action.DELETE))
    register.write(state)
    return [*told, _ask(register, when + 2, Action.READ)]


def forgotten_refusal(register: Register, when: float) -> list[Operation]:
    """Refuse a patch, and apply it."""
    told = _made(register, when)
    refused = _ask(register, when + 1, Action.PATCH, "refused")._replace(fate=Fate.FAILED, code=503, state=None)
    return [*told, refused, _ask(register, when + 2, Action.READ)]


Twin = Callable[[Register, float], list[Operation]]

TWINS: tuple[Twin, ...] = (lost_write, stale_read, applied_twice, overwritten, resurrected, forgotten_refusal)


def play_broken(twin: Twin, seed: int) -> Played:
    """Play correctly, then let a twin do its one wrong thing, then play on."""
    random_ = random.Random(seed)
    register = Register(random_)
    first = play(seed, requests=random_.randrange(30), register=register, unknown=0.0)
    quiet = max((one.ended for one in first.operations), default=0.0) + 10
    wrong = twin(register, quiet)
    second = play(seed + 1, requests=random_.randrange(30), register=register, unknown=0.1, start=quiet + 10)
    return Played([*first.operations, *wrong, *second.operations], register.versions)
