"""Build the authorizers that `--authorization-mode` names, among them ABAC with its policy file.

An ABAC policy is one JSON object a line, each of which allows something. Kubernetes: the options and the reload of
kube-apiserver's authorizers, pkg/auth/authorizer/abac with policies of v1beta1. Differs: Webhook is refused by name.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS
from moorage.model.types.policy import PolicyRule
from moorage.serve.access.authorization import ALLOWED, Attributes, Authorization, Authorizer, Decision, Rules
from moorage.serve.access.guard import ALL_RIGHTS
from moorage.serve.access.node import NodeAuthorizer
from moorage.serve.access.node_graph import GRAPH_KINDS
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

    def authorize(self, user: User, attributes: Attributes) -> Decision:
        return ALLOWED

    def rules_for(self, user: User, namespace: str) -> Rules:
        return Rules(ALL_RIGHTS)


class _AlwaysDeny:
    """Allows nothing, except to system:masters."""

    def authorize(self, user: User, attributes: Attributes) -> Decision:
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
            api.directory.follow_stored(KINDS.POD, node.graph)
            for kind in GRAPH_KINDS:
                api.directory.follow(kind, node.graph)
            authorizers.append(node)
        elif mode == "ABAC" and policy_file is not None:
            try:
                authorizers.append(read_policy(policy_file))
            except (OSError, ValueError) as error:
                raise WrongModes(f"--authorization-policy-file: {error}") from None
        else:
            authorizers.append(_AlwaysAllow() if mode == "AlwaysAllow" else _AlwaysDeny())
    api.authorization = Authorization(authorizers)


_VERSION, _KIND = "abac.authorization.kubernetes.io/v1beta1", "Policy"
_READING = ("get", "list", "watch")


class Policy(NamedTuple):
    """One line of the file. `*` is any; what is empty matches nothing."""

    user: str = ""
    group: str = ""
    readonly: bool = False
    apiGroup: str = ""
    resource: str = ""
    namespace: str = ""
    nonResourcePath: str = ""

    def is_for(self, user: User) -> bool:
        if self.user not in ("", "*", user.name) or not (self.group in ("", "*") or self.group in user.groups):
            return False
        return bool(self.user or self.group)

    def allows(self, attributes: Attributes) -> bool:
        if self.readonly and attributes.verb not in _READING:
            return False
        if not attributes.is_resource:
            path = self.nonResourcePath
            return path in ("*", attributes.path) or (
                path.endswith("*") and attributes.path.startswith(path.rstrip("*"))
            )
        wanted = (
            (self.namespace, attributes.namespace),
            (self.resource, attributes.resource),
            (self.apiGroup, attributes.group),
        )
        return all(allowed in ("*", value) for allowed, value in wanted)

    def rule(self) -> PolicyRule:
        verbs = _READING if self.readonly else ("*",)
        if self.nonResourcePath and not self.resource:
            return PolicyRule(verbs, nonResourceURLs=(self.nonResourcePath,))
        return PolicyRule(verbs, (self.apiGroup,), (self.resource,))


class PolicyList:
    """The policies of a file."""

    def __init__(self, policies: tuple[Policy, ...]) -> None:
        self._policies = policies

    def authorize(self, user: User, attributes: Attributes) -> Decision:
        if any(policy.is_for(user) and policy.allows(attributes) for policy in self._policies):
            return ALLOWED
        return Decision(False, "No policy matched.")

    def rules_for(self, user: User, namespace: str) -> Rules:
        policies = [policy for policy in self._policies if policy.is_for(user)]
        return Rules(
            [policy.rule() for policy in policies if policy.namespace in ("*", namespace) or policy.nonResourcePath]
        )


def read_policy(path: Path) -> PolicyList:
    """Raises OSError, and ValueError that names the line."""
    policies = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            try:
                policies.append(_policy(json.loads(line)))
            except (TypeError, ValueError) as error:
                raise ValueError(f"{path}:{number}: {error}") from None
    return PolicyList(tuple(policies))


def _policy(document: object) -> Policy:
    if not isinstance(document, dict) or (document.get("apiVersion"), document.get("kind")) != (_VERSION, _KIND):
        raise ValueError(f"not a {_KIND} of {_VERSION}")
    spec = document.get("spec") or {}
    for name, value in spec.items():
        wanted = bool if name == "readonly" else str
        if name in Policy._fields and not isinstance(value, wanted):
            raise ValueError(f"spec.{name} must be a {wanted.__name__}")
    return Policy(**{name: spec[name] for name in Policy._fields if name in spec})
