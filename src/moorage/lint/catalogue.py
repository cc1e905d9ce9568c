"""List every rule of the linter (stable name, severity, summary), and resolve --select and --ignore."""

from collections.abc import Iterable

import msgspec

from moorage.lint.finding import Severity

#: Where the documentation is published.
SITE = "https://moorage.dev"


class Rule(msgspec.Struct, frozen=True):
    """One row. The page of a rule is docs/findings/<name>.md; `moorage lint --explain` prints it."""

    name: str
    severity: Severity
    summary: str

    @property
    def page(self) -> str:
        return f"docs/findings/{self.name}.md"

    @property
    def url(self) -> str:
        return f"{SITE}/findings/{self.name}/"


_E, _W = Severity.ERROR, Severity.WARNING

RULES = (
    # What cannot be read, or is no object.
    Rule("unreadable", _E, "The input is not YAML or JSON, or is larger or deeper than can be checked."),
    Rule("not-an-object", _E, "A document that is no Kubernetes object: apiVersion or kind is missing."),
    Rule("unserved-version", _E, "No current API server serves this kind in this apiVersion."),
    Rule("unknown-field", _W, "The API server drops this field, or refuses it when it validates strictly."),
    Rule("duplicate-field", _W, "The same field is given twice; the last one wins, or the object is refused."),
    # What the API server says.
    Rule("rejected", _E, "The API server refuses the object."),
    Rule("api-server-warning", _W, "The API server accepts the object, and warns."),
    Rule("template-pods-rejected", _E, "The template is accepted, but every pod made from it will be refused."),
    # Tolerations.
    Rule("toleration-never-matches", _W, "No taint a node can have matches this toleration."),
    Rule("toleration-redundant", _W, "Other tolerations of the pod already do all that this one does."),
    Rule("toleration-seconds-evicts", _W, "tolerationSeconds evicts the pod although the threshold holds."),
    # Values on nodes that cannot be compared.
    Rule("taint-not-comparable", _W, "A toleration compares this taint's value, which is no number or version."),
    Rule("label-not-comparable", _W, "A node affinity compares this label's value, which is no number or version."),
    Rule("version-is-prerelease", _W, "The version parses as a pre-release and so sorts below its base version."),
    # Label keys, rollouts and spread.
    Rule("match-label-key-absent", _W, "The pods will not have this label, so the key is silently ignored."),
    Rule("pod-template-hash-absent", _W, "Only Deployments give their pods the label pod-template-hash."),
    Rule("rollout-deadlock", _W, "Required anti-affinity against its own pods can block a rolling update for good."),
    Rule("spread-over-taints", _W, "Nodes the pod cannot use count as spread domains, so pods stay Pending."),
    # Budgets, priorities and nodes.
    Rule("budget-allows-no-eviction", _W, "The budget lets no pod be evicted, so that drains wait for ever."),
    Rule("budget-matches-nothing", _W, "No pod of the input has the labels that the budget selects."),
    Rule("priority-class-missing", _W, "The pods name a PriorityClass that is not in the input."),
    Rule("node-selector-unmatched", _W, "No node of the input has the labels that the pods ask for."),
    Rule("limit-range-refuses", _E, "A LimitRange of the input refuses the pods."),
    Rule("quota-refuses", _W, "A ResourceQuota of the input does not have room for all pods, or refuses them."),
    Rule("namespace-missing", Severity.INFO, "The namespace is not in the input."),
    Rule("runtime-class-missing", _W, "The pods name a RuntimeClass that is not in the input."),
    # Devices.
    Rule("device-class-missing", _W, "The claim names a DeviceClass that is not among those of the input."),
    Rule("device-claim-missing", _W, "The pods name a ResourceClaim or template that is not in the input."),
    Rule("device-claim-unsatisfiable", _W, "No node has the devices that the claim asks for, in the given slices."),
    Rule("device-selector-constant", _W, "The selector has the same answer for every device."),
    Rule("device-toleration-never-matches", _W, "No taint that the given slices and rules publish is tolerated by it."),
    Rule("device-toleration-evicts", _W, "The toleration lets a device be allocated from which pods are evicted."),
    Rule("device-taint-rule-unselective", _W, "Without a deviceSelector the rule taints every device."),
    # CEL.
    Rule("cel-constant", _W, "The expression has the same answer for every taint."),
    Rule("cel-tolerates-everything", _W, "The expression tolerates every taint that was tried."),
    Rule("cel-ignores-key", _W, "The expression does not look at the taint's key."),
    Rule("cel-always-fails", _W, "The expression fails whatever the value of the taint, and so tolerates nothing."),
    Rule("cel-expensive", _W, "The expression's estimated cost is close to the limit."),
)

BY_NAME = {rule.name: rule for rule in RULES}


class SelectionError(ValueError):
    """A name or prefix that fits no rule."""


def rule_of(name: str) -> Rule:
    """Return the rule of this name. Raises SelectionError."""
    if name not in BY_NAME:
        raise _unknown(name)
    return BY_NAME[name]


def selected_rules(select: Iterable[str], ignore: Iterable[str]) -> frozenset[str]:
    """Return all rules or those selected, without those ignored. Both take names and prefixes, such as `cel-*`.

    `unreadable` is always selected: unreadable input was not checked for the other rules either.
    """
    wanted = _expand(select)
    return (wanted | {"unreadable"} if wanted else frozenset(BY_NAME)) - _expand(ignore)


def _expand(given: Iterable[str]) -> frozenset[str]:
    names: set[str] = set()
    for text in given:
        for pattern in filter(None, (part.strip() for part in text.split(","))):
            names |= _matching(pattern)
    return frozenset(names)


def _matching(pattern: str) -> set[str]:
    if pattern in BY_NAME:
        return {pattern}
    if pattern.endswith("*"):
        found = {name for name in BY_NAME if name.startswith(pattern[:-1])}
        if found:
            return found
    raise _unknown(pattern)


def _unknown(pattern: str) -> SelectionError:
    return SelectionError(f"there is no rule {pattern!r}{_suggestion(pattern)}; `moorage lint --rules` lists them")


def _suggestion(pattern: str) -> str:
    from difflib import get_close_matches  # only wrong names need it

    wanted = pattern.rstrip("*")
    family = f"{wanted.rstrip('-')}-"
    if any(name.startswith(family) for name in BY_NAME):
        return f" (did you mean {family}*?)"
    close = get_close_matches(wanted, BY_NAME, n=1, cutoff=0.5)
    return f" (did you mean {close[0]}?)" if close else ""
