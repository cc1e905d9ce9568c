"""Authorize by a policy file: one JSON object a line, each of which allows something.

Kubernetes: pkg/auth/authorizer/abac, with policies of v1beta1.
"""

import json
from pathlib import Path
from typing import NamedTuple

from moorage.model.types.access.rbac import PolicyRule
from moorage.serve.access.authorization import ALLOWED, Attributes, Decision, Rules
from moorage.serve.pki.authentication import User

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

    def allows(self, asked: Attributes) -> bool:
        if self.readonly and asked.verb not in _READING:
            return False
        if not asked.is_resource:
            path = self.nonResourcePath
            return path in ("*", asked.path) or (path.endswith("*") and asked.path.startswith(path.rstrip("*")))
        wanted = ((self.namespace, asked.namespace), (self.resource, asked.resource), (self.apiGroup, asked.group))
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

    def authorize(self, user: User, asked: Attributes) -> Decision:
        if any(policy.is_for(user) and policy.allows(asked) for policy in self._policies):
            return ALLOWED
        return Decision(False, "No policy matched.")

    def rules_for(self, user: User, namespace: str) -> Rules:
        found = [policy for policy in self._policies if policy.is_for(user)]
        return Rules(
            [policy.rule() for policy in found if policy.namespace in ("*", namespace) or policy.nonResourcePath]
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
