"""Define questions about expensive expressions, and keep accounts of what a pod's expressions cost against a budget.

Questions and answers are plain data that can be sent to another process. All expressions of one list of tolerations
(or one device selector) share an account, so pods with equal tolerations share it too. CEL is imported by the first
question. Kubernetes: a limit for each evaluation only. Differs: cheap expressions have no account to speak of; beyond
`BUDGET` an expensive one is not evaluated, and the reason says so.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

#: The environment of tolerations' expressions; the subject is a taint's key, value and effect.
TAINT = "taint"


class CelQuestion(NamedTuple):
    """Does an expression hold for a subject? The environment says what the subject is."""

    environment: str
    expression: str
    subject: Hashable


class CelAnswer(NamedTuple):
    """True, False or the text of the error that evaluation ended with, and what that cost.

    `gave_up`: it was not evaluated, because a budget is used up.
    """

    value: bool | str
    cost: int = 0
    gave_up: bool = False


#: Evaluates a question at once.
Compute: TypeAlias = Callable[[], CelAnswer]


def taint_question(expression: str, taint: Any) -> CelQuestion:
    return CelQuestion(TAINT, expression, (taint.key, taint.value, taint.effect))


if TYPE_CHECKING:
    from moorage.match.cel import Program


def evaluate_taint(program: "Program", taint: Any) -> CelAnswer:
    from moorage.match.cel import CelError

    try:
        value, cost = program.evaluate_with_cost(taint)
    except CelError as error:
        return CelAnswer(str(error), error.cost)
    return CelAnswer(value is True, cost)


#: An expression whose estimate is at most this is evaluated where it is asked about: it takes about a millisecond.
CHEAP = 10_000
#: What the cheap expressions of one account may cost there before they count as expensive, until all have answers.
CHEAP_IN_TOTAL = 200_000
#: More characters of expressions in one account are not compiled on an event loop.
SHORT = 2048
#: What the expensive evaluations of one account may cost: twenty at the limit of a single one.
BUDGET = 20_000_000
#: What all expensive evaluations of a command may cost: some ten to thirty seconds.
EVALUATION_BUDGET = 300_000_000
_SLOW_FROM = 20_000_000
_ACCOUNTS_KEPT = 4096
_MAX_ASKED = 128  # at a time
_ANSWERS_KEPT = 65_536


class Undecided(Exception):
    """The answer is being computed. `when_ready` says when to ask again."""

    def __init__(self, accounts: Iterable["Account"], text: str = "") -> None:
        super().__init__()
        self.accounts, self._text = tuple(accounts), text

    def __str__(self) -> str:
        return self._text or f"waiting for {self.waiting} evaluations of expensive expressions"

    @property
    def waiting(self) -> int:
        """Return how many evaluations are asked for and not done."""
        return sum(len(account.asked) for account in self.accounts)

    def when_ready(
        self, waiter: Hashable, call: Callable[[], None], still_waits: Callable[[], bool] = lambda: True
    ) -> None:
        """Call back once an account has answers; for each waiter the last callback counts.

        Without a waiter that `still_waits`, nothing more is evaluated.
        """
        for account in self.accounts:
            account.waiters[waiter] = (call, still_waits)


class Account:
    """The expensive expressions of one pod or selector: their answers so far, and what these cost.

    `asked` are questions without an answer yet, `waiters` the callbacks for when they have one.
    """

    __slots__ = (
        "answers",
        "asked",
        "cheap_left",
        "expressions",
        "is_queued",
        "size",
        "spent",
        "spent_since",
        "waiters",
    )

    def __init__(self, expressions: tuple[str, ...]) -> None:
        self.expressions = expressions
        self.size = sum(map(len, expressions))
        self.answers: dict[CelQuestion, CelAnswer] = {}
        self.asked: dict[CelQuestion, None] = {}
        self.waiters: dict[Hashable, tuple[Callable[[], None], Callable[[], bool]]] = {}
        self.cheap_left = CHEAP_IN_TOTAL
        self.spent = 0
        self.spent_since: float | None = None
        self.is_queued = False

    def note(self, question: CelQuestion, answer: CelAnswer) -> None:
        if len(self.answers) >= _ANSWERS_KEPT:
            self.answers.clear()
        self.answers[question] = answer
        self.spent += answer.cost

    def allow_cheap(self) -> None:
        """Allow as much for the subjects that come next, because all those so far have their answers."""
        self.cheap_left = CHEAP_IN_TOTAL

    def call_waiters(self) -> None:
        waiters, self.waiters = self.waiters, {}
        for call, _ in waiters.values():
            call()

    @property
    def is_full(self) -> bool:
        """Whether it takes no more questions before some are answered."""
        return len(self.asked) >= _MAX_ASKED

    @property
    def is_waited_for(self) -> bool:
        return any(still_waits() for _, still_waits in self.waiters.values())


class Evaluations:
    """Evaluates expensive expressions at once, as commands, libraries and tests do.

    `total` is a budget for all accounts together, and `slow` is called once if much of it is used. A subclass may
    evaluate elsewhere and raise `Undecided` meanwhile.
    """

    #: Whether expressions may be compiled where they are asked about, however long they are.
    compiles_long = True

    def __init__(self, total: int | None = None, slow: Callable[[], None] = lambda: None) -> None:
        self.total, self._slow = total, slow
        self.spent = 0
        self.given_up = 0
        self._accounts: OrderedDict[tuple[str, ...], Account] = OrderedDict()

    def account(self, expressions: tuple[str, ...]) -> Account:
        """Return the account of these expressions, which is shared by all who ask about the same ones."""
        account = self._accounts.get(expressions)
        if account is None:
            account = self._accounts[expressions] = Account(expressions)
            if len(self._accounts) > _ACCOUNTS_KEPT:
                self._accounts.popitem(last=False)
        else:
            self._accounts.move_to_end(expressions)
        return account

    def decide(
        self, account: Account, question: CelQuestion, compute: Compute, *, patiently: bool = False
    ) -> CelAnswer:
        """Return the answer. Raises Undecided where it is not known yet, and asks for it.

        `patiently`: wait for another budget, instead of an answer that says that this one is used up.
        """
        known = account.answers.get(question)
        if known is not None:
            return known
        is_over = self.total is not None and self.spent >= self.total
        if account.spent >= BUDGET or is_over:
            self.given_up += 1
            if patiently:
                raise Undecided((account,))
            whose = (self.total or 0, "all") if is_over else (BUDGET, "the pod's")
            return CelAnswer(budget_text(*whose), gave_up=True)
        answer = compute()
        account.note(question, answer)
        if self.spent < _SLOW_FROM <= self.spent + answer.cost:
            self._slow()
        self.spent += answer.cost
        return answer


def budget_text(units: int, whose: str) -> str:
    return f"not evaluated: the budget of {units} cost units for {whose} expensive expressions is used up"
