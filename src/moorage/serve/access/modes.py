"""Make the authorizers that `--authorization-mode` names.

Kubernetes: the options and the reload of kube-apiserver's authorizers. Differs: Webhook is refused by name.
"""

from collections.abc import Sequence
from pathlib import Path

from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS
from moorage.serve.access.abac import read_policy
from moorage.serve.access.authorization import ALLOWED, Attributes, Authorization, Authorizer, Decision, Rules
from moorage.serve.access.coverage import ALL_RIGHTS
from moorage.serve.access.node import NODE_KINDS, NodeAuthorizer
from moorage.serve.pki.authentication import User
from moorage.serve.verbs.api import Api

DEFAULT_MODES = ("Node", "RBAC")
MODES = ("ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook")


class WrongModes(ValueError):
    """Modes that cannot be had, with the reason."""


def read_modes(text: str, policy_file: Path | None) -> tuple[str, ...]:
    """Read a list such as `Node,RBAC`. Raises WrongModes."""
    modes = tuple(text.split(",")) if text else ()
    if not modes:
        raise WrongModes("at least one authorization-mode must be passed")
    for mode in modes:
        if mode not in MODES:
            raise WrongModes(f"authorization-mode {go_quote(mode)} is not a valid mode: {', '.join(MODES)}")
        if modes.count(mode) > 1:
            raise WrongModes(f"authorization-mode {go_quote(mode)} has mode specified more than once")
    if "Webhook" in modes:
        raise WrongModes(
            "authorization-mode Webhook is not supported: leave it out, or put the rules into roles (RBAC)"
        )
    if "ABAC" in modes and policy_file is None:
        raise WrongModes("authorization-mode ABAC's authorization policy file not passed")
    if "ABAC" not in modes and policy_file is not None:
        raise WrongModes("cannot specify --authorization-policy-file without mode ABAC")
    return modes


class _AlwaysAllow:
    """Allows everything."""

    def authorize(self, user: User, asked: Attributes) -> Decision:
        return ALLOWED

    def rules_for(self, user: User, namespace: str) -> Rules:
        return Rules(ALL_RIGHTS)


class _AlwaysDeny:
    """Allows nothing, except to system:masters."""

    def authorize(self, user: User, asked: Attributes) -> Decision:
        return Decision(False, "Everything is forbidden.")

    def rules_for(self, user: User, namespace: str) -> Rules:
        return Rules()


def use_modes(api: Api, modes: Sequence[str], policy_file: Path | None = None) -> None:
    """Let an API server, before it is started, authorize by modes. Raises WrongModes."""
    authorizers: list[Authorizer] = []
    for mode in modes:
        if mode == "RBAC":
            authorizers.append(api.roles)
        elif mode == "Node":
            node = NodeAuthorizer()
            api.directory.follow_stored(KINDS.POD, node)
            for kind in NODE_KINDS:
                api.directory.follow(kind, node)
            authorizers.append(node)
        elif mode == "ABAC" and policy_file is not None:
            try:
                authorizers.append(read_policy(policy_file))
            except (OSError, ValueError) as error:
                raise WrongModes(f"--authorization-policy-file: {error}") from None
        else:
            authorizers.append(_AlwaysAllow() if mode == "AlwaysAllow" else _AlwaysDeny())
    api.authorization = Authorization(authorizers)
