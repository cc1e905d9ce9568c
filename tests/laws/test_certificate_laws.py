"""Served certificates are trusted at every moment, for years, whatever the delays of distribution are.

API servers learn of a changed configuration, and replicas of the webhook of a changed Secret, after delays that are
drawn, and the controller is away for days. Every certificate that any replica serves is verified against what any API
server trusts, whenever one of them changes. Keys are made, certificates signed and verified for real.
"""

import base64
from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.controller_context import controller_context
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.virtual_time import BASE

from moorage.attached import names
from moorage.attached.certificates import rotation
from moorage.attached.certificates.pairs import make_pair, server_names, time_of
from moorage.attached.certificates.rotation import DISTRIBUTION, Held
from moorage.attached.controller.certificates import KEY, CertificatesController
from moorage.attached.controller.registry import AttachedContext
from moorage.client.protocol import Object
from moorage.control.framework.actions import Action, Create, Patch, Update
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS

Raw = dict[str, Any]
CONFIGURATION = KINDS.MUTATING_WEBHOOK_CONFIGURATION
NAME = x509.DNSName(server_names(names.NAMESPACE)[0])
DAY = 86_400.0
YEARS = 3 * 365 * DAY
#: Three reconciles and a slow replica fit into the thirty days in which old and new overlap.
LONGEST_ABSENCE, SLOWEST_REPLICA = 6 * DAY, 10 * DAY


class Change(NamedTuple):
    """What a document became at some time."""

    at: float
    content: Raw


class Delays(NamedTuple):
    servers: tuple[float, ...]
    replicas: tuple[float, ...]


@st.composite
def delays(draw: st.DrawFn) -> Delays:
    learns = st.sampled_from((0.0, 0.3, 30.0, DISTRIBUTION - 1))
    reloads = st.sampled_from((0.0, 60.0, 150.0, DAY, SLOWEST_REPLICA))
    return Delays(
        tuple(draw(st.lists(learns, min_size=1, max_size=2))), tuple(draw(st.lists(reloads, min_size=1, max_size=2)))
    )


ABSENCES = st.lists(st.sampled_from((1.0, 300.0, 601.0, DAY, LONGEST_ABSENCE)), min_size=1, max_size=8)


def new_configuration() -> Raw:
    service = {"namespace": names.NAMESPACE, "name": names.WEBHOOK, "path": names.LOWER_PATH}
    metadata = {"name": names.LOWERING, "uid": "u", "resourceVersion": "1"}
    return {"metadata": metadata, "webhooks": [{"name": names.LOWERING, "clientConfig": {"service": service}}]}


class Installation:
    """A Secret and a configuration, every state that they had, and the controller that writes them."""

    def __init__(self) -> None:
        self.controller = CertificatesController(AttachedContext(controller_context()), make_pair)
        self.secrets: list[Change] = []
        self.configurations = [Change(BASE, new_configuration())]

    def reconcile(self, now: float) -> float:
        """Let the controller work once; return when it wants to work again."""
        world = World()
        configuration = self.configurations[-1].content
        world.put(CONFIGURATION, None, Object(CONFIGURATION, names.LOWERING, 1, raw=configuration))
        (question,) = self.controller.questions(KEY, world, now)
        there = self.secrets[-1:]
        found = [Object(KINDS.SECRET, question.key, 1, raw=each.content) for each in there]
        plan = self.controller.decide(KEY, world, {question: found}, now)
        for action in plan.actions:
            self._carry_out(action, now)
        assert plan.again_after is not None
        return plan.again_after

    def _carry_out(self, action: Action, now: float) -> None:
        if isinstance(action, Create | Update) and action.kind is KINDS.SECRET:
            self.secrets.append(Change(now, action.document))
        elif isinstance(action, Patch):
            assert isinstance(action.patch, dict)
            changed = deepcopy(self.configurations[-1].content)
            assert action.patch["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]
            for webhook, patched in zip(changed["webhooks"], action.patch["webhooks"], strict=True):
                webhook["clientConfig"]["caBundle"] = patched["clientConfig"]["caBundle"]
            changed["metadata"]["resourceVersion"] += "1"
            self.configurations.append(Change(now, changed))


def seen(changes: list[Change], at: float) -> Raw:
    return next(each.content for each in reversed(changes) if each.at <= at)


def distrusts(installation: Installation, drawn: Delays, until: float) -> list[float]:
    """Return the moments at which some replica served what some API server did not trust."""
    secrets, configurations = installation.secrets, installation.configurations
    began = max(secrets[0].at + max(drawn.replicas), configurations[1].at + max(drawn.servers))
    moments = {each.at + delay for each in secrets for delay in drawn.replicas}
    moments |= {each.at + delay for each in configurations for delay in drawn.servers}
    moments |= {moment - 1 for moment in moments}
    return [
        at
        for at in sorted(each for each in {*moments, until} if began <= each <= until)
        for server in drawn.servers
        for replica in drawn.replicas
        if not is_trusted(seen(secrets, at - replica), seen(configurations, at - server), at)
    ]


def is_trusted(secret: Raw, configuration: Raw, at: float) -> bool:
    bundle = base64.b64decode(configuration["webhooks"][0]["clientConfig"]["caBundle"])
    store = Store(x509.load_pem_x509_certificates(bundle))
    served = x509.load_pem_x509_certificate(base64.b64decode(secret["data"]["tls.crt"]))
    try:
        PolicyBuilder().store(store).time(time_of(at)).build_server_verifier(NAME).verify(served, [])
    except VerificationError:
        return False
    return True


def run(drawn: Delays, absences: list[float]) -> tuple[Installation, float]:
    installation, now, turn = Installation(), BASE, 0
    while now < BASE + YEARS:
        wanted = installation.reconcile(now)
        settled = wanted >= 300.0 and not seen(installation.secrets, now)["data"].get("next.crt")
        now += 5 * DAY if settled else max(wanted, absences[turn % len(absences)])
        turn += 1
    return installation, now


#: Each example is three years of signing.
@settings(LAW_SETTINGS, max_examples=examples(20))
@given(delays(), ABSENCES)
def test_what_is_served_is_trusted_at_every_moment(drawn: Delays, absences: list[float]) -> None:
    installation, until = run(drawn, absences)
    served = {each.content["data"]["tls.crt"] for each in installation.secrets}
    assert len(served) >= 3 * 365 // 90
    assert distrusts(installation, drawn, until) == []
    kept = seen(installation.secrets, until)["data"]["ca.crt"]
    assert len(x509.load_pem_x509_certificates(base64.b64decode(kept))) <= 3


def _serve_at_once(held: Held) -> Held:
    return held._replace(served=held.coming or held.served, coming=None)


def _forget_the_old(held: Held) -> Held:
    return held._replace(authorities=held.authorities[-1:])


def _broken(change: Callable[[Held], Held]) -> Callable[..., Held]:
    right = rotation.advanced
    return lambda *arguments: change(right(*arguments))


def test_the_law_notices_what_is_served_before_it_is_trusted() -> None:
    check_twin(_serve_at_once)


def test_the_law_notices_what_is_trusted_no_more_while_it_is_served() -> None:
    check_twin(_forget_the_old)


def check_twin(change: Callable[[Held], Held]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("moorage.attached.controller.certificates.advanced", _broken(change))
        assert_notices(test_what_is_served_is_trusted_at_every_moment)
