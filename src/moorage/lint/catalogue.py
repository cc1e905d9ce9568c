"""Register the linter's rules beside the functions that report them, list all rules, and resolve --select and --ignore.

A rule is a row, `Rule(name, severity, summary)`, above a function in a module of `lint/rules`:

- `@check(theme, Rule(…))`: a function of one object. It gets the `Subject`, the `Facts` of the input so far, and the
  errors that the API server has for the object.
- `@check_tolerations(theme, Rule(…))`: the same, called once for each list of tolerations.
- `@collector(theme, Rule(…))`: a class that collects facts from all objects, and complains at the end of the input.
- `declare(theme, Rule(…))`: findings of reading, conversion and admission, which the engine asks for itself.

The modules of `lint/rules` are imported with the first use of `rules()`. A page docs/findings/<name>.md belongs to each
rule, and the index of the pages is generated: `python -m moorage.lint.catalogue docs/findings/README.md` updates it.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

import msgspec

from moorage.lint.finding import Severity

if TYPE_CHECKING:
    from moorage.lint.subject import Complaint, PlacedComplaint, Subject, TolerationList
    from moorage.model.gates import GateSet

ERROR, WARNING = Severity.ERROR, Severity.WARNING


class Theme(Enum):
    """The sections of the index, in their order."""

    INPUT = "Input that cannot be read, or is no object"
    API_SERVER = "The API server's answer"
    TOLERATIONS = "Tolerations"
    VALUES = "Values on nodes that cannot be compared"
    LABEL_KEYS = "Label keys, rollouts and spread"
    BUDGETS = "Budgets, priorities and nodes"
    POLICIES = "Admission policies and webhooks"
    DEVICES = "Devices"
    ATTACH = "Attach, with `--attached`"
    CEL = "CEL"


class Rule(msgspec.Struct, frozen=True):
    """One row. The page of a rule is docs/findings/<name>.md; `moorage lint --explain` prints it."""

    name: str
    severity: Severity
    summary: str

    @property
    def page(self) -> str:
        return f"docs/findings/{self.name}.md"


class Collector(Protocol):
    """Facts of the whole input, and the complaints that only they allow."""

    def __init__(self, gates: GateSet) -> None: ...

    def add(self, subject: Subject) -> None: ...

    def complaints(self, facts: Facts) -> Iterator[PlacedComplaint]: ...


AnyCollector = TypeVar("AnyCollector", bound=Collector)
#: The texts are the errors that the API server has for the object.
Check: TypeAlias = "Callable[[Subject, Facts, frozenset[str]], Iterator[Complaint]]"
TolerationCheck: TypeAlias = "Callable[[TolerationList, Subject, Facts], Iterator[Complaint]]"

_RULES: dict[Theme, list[Rule]] = {theme: [] for theme in Theme}
CHECKS: list[Check] = []
TOLERATION_CHECKS: list[TolerationCheck] = []
_COLLECTORS: list[type[Collector]] = []


class Facts:
    """One collector of each class, for one run over the input."""

    def __init__(self, gates: GateSet) -> None:
        rules()
        self.gates = gates
        self._collectors: dict[type[Collector], Collector] = {each: each(gates) for each in _COLLECTORS}

    def of(self, collector: type[AnyCollector]) -> AnyCollector:
        instance = self._collectors[collector]
        assert isinstance(instance, collector)
        return instance

    def add(self, subject: Subject) -> None:
        for collector in self._collectors.values():
            collector.add(subject)

    def complaints(self) -> Iterator[PlacedComplaint]:
        """Yield what only the whole input shows."""
        for collector in self._collectors.values():
            yield from collector.complaints(self)


def declare(theme: Theme, *rows: Rule) -> None:
    """Register rules that the engine reports while it reads, converts and admits."""
    for row in rows:
        if any(row.name == other.name for others in _RULES.values() for other in others):
            raise ValueError(f"two rules are called {row.name}")
        _RULES[theme].append(row)


def check(theme: Theme, *rows: Rule) -> Callable[[Check], Check]:
    """Register a function that looks at one object, and the rules that it reports."""
    declare(theme, *rows)

    def register(function: Check) -> Check:
        CHECKS.append(function)
        return function

    return register


def check_tolerations(theme: Theme, *rows: Rule) -> Callable[[TolerationCheck], TolerationCheck]:
    """Register a function that looks at one list of tolerations, and the rules that it reports."""
    declare(theme, *rows)

    def register(function: TolerationCheck) -> TolerationCheck:
        TOLERATION_CHECKS.append(function)
        return function

    return register


def collector(theme: Theme, *rows: Rule) -> Callable[[type[AnyCollector]], type[AnyCollector]]:
    """Register a class that looks at the whole input, and the rules that it reports."""
    declare(theme, *rows)

    def register(collecting: type[AnyCollector]) -> type[AnyCollector]:
        _COLLECTORS.append(collecting)
        return collecting

    return register


@cache
def rules() -> dict[str, Rule]:
    """Import the modules of `lint/rules`; return all rules by name, theme after theme and in the order of names."""
    from moorage.lint import rules as room

    for module in sorted(iter_module.name for iter_module in pkgutil.iter_modules(room.__path__)):
        import_module(f"{room.__name__}.{module}")
    for rows in _RULES.values():
        rows.sort(key=lambda rule: rule.name)  # which module was imported first does not matter
    return {rule.name: rule for rows in _RULES.values() for rule in rows}


class SelectionError(ValueError):
    """A name or prefix that fits no rule."""


def rule_of(name: str) -> Rule:
    """Return the rule of this name. Raises SelectionError."""
    if name not in rules():
        raise _unknown(name)
    return rules()[name]


def selected_rules(select: Iterable[str], ignore: Iterable[str]) -> frozenset[str]:
    """Return all rules or those selected, without those ignored. Both take names and prefixes, such as `cel-*`.

    `unreadable` is always selected: unreadable input was not checked for the other rules either.
    """
    wanted = _expand(select)
    return (wanted | {"unreadable"} if wanted else frozenset(rules())) - _expand(ignore)


def _expand(given: Iterable[str]) -> frozenset[str]:
    names: set[str] = set()
    for text in given:
        for pattern in filter(None, (part.strip() for part in text.split(","))):
            names |= matching_rules(pattern)
    return frozenset(names)


def matching_rules(pattern: str) -> set[str]:
    """Return the rule of this name, or those that a prefix such as `cel-*` stands for. Raises SelectionError."""
    if pattern in rules():
        return {pattern}
    if pattern.endswith("*"):
        names = {name for name in rules() if name.startswith(pattern[:-1])}
        if names:
            return names
    raise _unknown(pattern)


def _unknown(pattern: str) -> SelectionError:
    return SelectionError(f"there is no rule {pattern!r}{_suggestion(pattern)}; `moorage lint --rules` lists them")


def _suggestion(pattern: str) -> str:
    from difflib import get_close_matches  # only wrong names need it

    wanted = pattern.rstrip("*")
    family = f"{wanted.rstrip('-')}-"
    if any(name.startswith(family) for name in rules()):
        return f" (did you mean {family}*?)"
    close = get_close_matches(wanted, rules(), n=1, cutoff=0.5)
    return f" (did you mean {close[0]}?)" if close else ""


def render_index(page: str) -> str:
    """Return the page docs/findings/README.md with the tables of all rules in it."""
    rules()
    tables = []
    for theme, rows in _RULES.items():
        lines = [f"| [`{rule.name}`]({rule.name}.md) | {rule.severity.value} | {rule.summary} |\n" for rule in rows]
        tables.append(f"## {theme.value}\n\n| rule | severity | |\n|---|---|---|\n{''.join(lines)}\n")
    first, last = page.index(f"## {next(iter(Theme)).value}\n"), page.index("## How it decides\n")
    return page[:first] + "".join(tables) + page[last:]


def _update_index(path: Path) -> None:
    path.write_text(render_index(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    # Rules register themselves with the imported module, not with this one, which runs as __main__.
    import_module("moorage.lint.catalogue")._update_index(Path(sys.argv[1]))
