"""Fill Secrets of type kubernetes.io/service-account-token, and delete those whose account is gone.

A deleted Secret is taken out of the account's list. Kubernetes: TokensController of pkg/controller/serviceaccount.
"""

import base64
from collections.abc import Iterable, Sequence

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Answers, Delete, Plan, Question, Update
from moorage.control.framework.controller import Controller
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.core import Secret
from moorage.model.well_known.annotations import SERVICE_ACCOUNT_NAME

TOKEN_TYPE = "kubernetes.io/service-account-token"
NAME, UID = SERVICE_ACCOUNT_NAME, "kubernetes.io/service-account.uid"
_LISTED = "listed by "


class AccountTokenController(Controller):
    """Keeps the tokens in Secrets. Keys are those of Secrets, and of accounts that list a Secret which is gone."""

    name = "serviceaccount-token-controller"
    watches = (KINDS.SECRET, KINDS.SERVICE_ACCOUNT)

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        changed = new or old
        if changed is None or self.context.sign_token is None:
            return ()
        if kind is KINDS.SERVICE_ACCOUNT:
            return [
                secret.key
                for secret in world.in_namespace(KINDS.SECRET, changed.namespace)
                if _names(secret, changed.name)
            ]
        if changed.view.type != TOKEN_TYPE:
            return ()
        if new is None and (account := changed.view.metadata.annotations.get(NAME)):
            return (changed.key, f"{_LISTED}{changed.namespace}/{account}")
        return (changed.key,)

    def questions(self, key: str, world: World, now: float) -> Sequence[Question]:
        """Look up an account of which nothing was heard: a Secret may be seen before it."""
        secret = None if key.startswith(_LISTED) else world.get(KINDS.SECRET, key)
        if secret is None or secret.view.type != TOKEN_TYPE:
            return ()
        name = secret.view.metadata.annotations.get(NAME, "")
        is_known = not name or world.get(KINDS.SERVICE_ACCOUNT, f"{secret.namespace}/{name}") is not None
        return () if is_known else (Question(KINDS.SERVICE_ACCOUNT, secret.namespace, name),)

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return self.decide(key, world, {}, now)

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        if key.startswith(_LISTED):
            return _without_lost_secrets(world.get(KINDS.SERVICE_ACCOUNT, key.removeprefix(_LISTED)), world)
        secret, sign = world.get(KINDS.SECRET, key), self.context.sign_token
        if secret is None or secret.view.type != TOKEN_TYPE or sign is None:
            return NOTHING
        metadata, data = secret.view.metadata, secret.view.data
        if metadata.deletionTimestamp is not None:
            return NOTHING
        account = world.get(KINDS.SERVICE_ACCOUNT, f"{secret.namespace}/{metadata.annotations.get(NAME, '')}")
        account = account or next((found for one in answers.values() for found in one), None)
        if account is None or metadata.annotations.get(UID) not in (None, "", account.uid):
            return Plan((Delete(KINDS.SECRET, secret.namespace, secret.name, secret.uid),))
        wanted = dict(data)
        if authority := self.context.root_authority:
            wanted["ca.crt"] = _encoded(authority)
        wanted["namespace"] = data.get("namespace") or _encoded(secret.namespace)
        if not data.get("token"):
            wanted["token"] = _encoded(sign(secret.namespace, account.name, account.uid, secret.name))
        if wanted == dict(data):
            return NOTHING
        annotations = {**metadata.annotations, NAME: account.name, UID: account.uid}
        raw = secret.raw
        document = {**raw, "metadata": {**raw["metadata"], "annotations": annotations}, "data": wanted}
        return Plan((Update(KINDS.SECRET, document),))


def _names(secret: Object, account: str) -> bool:
    found: Secret = secret.view
    return found.type == TOKEN_TYPE and found.metadata.annotations.get(NAME) == account


def _without_lost_secrets(account: Object | None, world: World) -> Plan:
    """Plan to list only the Secrets of an account that exist."""
    if account is None or not account.raw.get("secrets"):
        return NOTHING
    listed = account.raw["secrets"]
    kept = [one for one in listed if world.get(KINDS.SECRET, f"{account.namespace}/{one.get('name', '')}") is not None]
    return (
        Plan((Update(KINDS.SERVICE_ACCOUNT, {**account.raw, "secrets": kept}),))
        if len(kept) != len(listed)
        else NOTHING
    )


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
