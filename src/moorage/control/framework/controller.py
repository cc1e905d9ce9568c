"""The base class of controllers, with a default for everything but `reconcile`.

A controller says which of its keys a change concerns and returns a `Plan` for one key at a time. It does no I/O and
never sleeps: `runner` carries plans out, reports refusals to it, and asks again. Reconciling twice with no change in
between plans nothing the second time, so crashes and lost watch events are harmless. Kubernetes: the sync functions of
pkg/controller.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NamedTuple, Protocol

from moorage.client.protocol import Object, Raw
from moorage.control.framework.actions import Action, Answers, Plan, Question
from moorage.control.framework.steps import Steps
from moorage.control.framework.workloads import concerned_owners
from moorage.control.framework.world import World
from moorage.match.evaluation.accounts import Evaluations
from moorage.model.api_error import ApiError
from moorage.model.gates import GateSet
from moorage.model.kinds import CustomKind, Kind
from moorage.model.signing_terms import SigningTerms
from moorage.model.types.extension.admission_policies import ValidatingAdmissionPolicy
from moorage.telemetry.metrics import Metrics


class FieldWarning(Protocol):
    """What is to be known of a field of an object."""

    @property
    def field(self) -> str: ...
    @property
    def warning(self) -> str: ...


class CheckPolicy(Protocol):
    """Checks the types of a policy's expressions, where these definitions add kinds, up to a length of expressions."""

    def __call__(
        self, policy: ValidatingAdmissionPolicy, definitions: Iterable[Raw], longest: int, /
    ) -> Steps[Sequence[FieldWarning]]: ...


class ControllerContext(NamedTuple):
    """What every controller is constructed with.

    `simulates_storage`: there is no real storage, so volumes of every provisioner are simulated. `evaluations`
    evaluates expensive expressions. `root_authority` is the authority of the API server's certificate, in PEM.
    `sign_certificate` returns a certificate in PEM, signed by the authority of clients; `sign_token` a token for a
    Secret of a service account: its namespace, the account's name and UID, the Secret's name. Absent, none is made.
    `check_policy` is what the status of admission policies tells of.
    """

    gates: GateSet
    metrics: Metrics
    random: Callable[[], float]
    simulates_storage: bool = False
    evaluations: Evaluations | None = None
    root_authority: str = ""
    sign_certificate: Callable[[SigningTerms], bytes] | None = None
    sign_token: Callable[[str, str, str, str], str] | None = None
    check_policy: CheckPolicy | None = None


class Controller(ABC):
    """One controller. A subclass sets `name` and `watches` and defines `reconcile`; the rest has defaults."""

    #: The name for `--controllers`, metrics and logs.
    name: ClassVar[str]
    #: The kinds whose changes it is told of. Its own kind, whose keys it reconciles by default, comes first.
    watches: tuple[Kind, ...]
    #: It is also told of the objects of custom kinds.
    watches_custom: ClassVar[bool] = False
    #: How many keys are reconciled at a time.
    workers: ClassVar[int] = 8
    #: The reporting component in events, where Kubernetes has another name than the controller's.
    component: ClassVar[str] = ""

    def __init__(self, context: ControllerContext) -> None:
        self.context = context

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        """Return the keys to reconcile because of a change, which the world has already.

        By default an object of the controller's own kind concerns itself, any other its owner of that kind.
        """
        own_kind = self.watches[0]
        if kind is not own_kind:
            return concerned_owners(own_kind, old, new, world)
        changed = new or old
        return (changed.key,) if changed is not None else ()

    def kind_added(self, kind: CustomKind) -> Iterable[str]:
        """Return the keys to reconcile because a custom kind is known from now on, and its objects are."""
        return ()

    @abstractmethod
    def reconcile(self, key: str, world: World, now: float) -> Plan:
        """Return what to do about one object. `now` is the time of day in seconds.

        Raises Undecided where an expensive expression is being evaluated: the key is reconciled again after that.
        """

    def steps(self, key: str, world: World, now: float) -> Steps[Plan]:
        """Reconcile in steps, where it may take long. What others change meanwhile concerns the key once more."""
        yield
        return self.reconcile(key, world, now)

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        """Return what to do about an action that the API server refused. The key is retried in any case.

        If several actions are refused at a time, all returned `Report`s are sent, but other actions, such as writing
        a status, are carried out for the first refusal only.
        """
        return ()

    def done(self, key: str, plan: Plan, now: float) -> None:  # noqa: B027
        """Count what happened, once all actions of a plan have been carried out."""

    def questions(self, key: str, world: World, now: float) -> Sequence[Question]:
        """Return what must be looked up at the API server first, because the caches may be behind."""
        return ()

    def further_questions(self, key: str, world: World, answers: Answers, now: float) -> Sequence[Question]:
        """Return what must be looked up besides, as the answers show. Asked again until there is nothing."""
        return ()

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        """Reconcile with the answers. Called instead of `reconcile` if there were questions."""
        return self.reconcile(key, world, now)

    def decide_in_steps(self, key: str, world: World, answers: Answers, now: float) -> Steps[Plan]:
        """Reconcile with the answers in steps, where there may be many objects in them."""
        yield
        return self.decide(key, world, answers, now)
