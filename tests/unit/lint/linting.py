"""What the tests of the linter share: lint a text, get the findings."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from moorage.lint.catalogue import rules
from moorage.lint.engine import Linter
from moorage.lint.sources import Source
from moorage.model.gates import gates_from

if TYPE_CHECKING:
    from moorage.lint.finding import Finding
    from moorage.lint.report.form import LintSummary
    from moorage.lint.rules.attached import AttachedBy

ALL_GATES = gates_from({"AllAlpha": True, "AllBeta": True})
DEFAULT_GATES = gates_from({})
CONTAINERS = "  containers: [{name: app, image: 'app:1'}]\n"


def linter(*, gates: bool = True, strict: bool = False, attached: AttachedBy | None = None) -> Linter:
    return Linter(ALL_GATES if gates else DEFAULT_GATES, frozenset(rules()), strict=strict, attached=attached)


def lint(
    *texts: str | bytes,
    gates: bool = True,
    strict: bool = False,
    explicit: bool = True,
    attached: AttachedBy | None = None,
) -> list[Finding]:
    """All findings, those that need the whole input last. Each text is a source of its own: 0.yaml, 1.yaml, …"""
    return lint_with_outcome(*texts, gates=gates, strict=strict, explicit=explicit, attached=attached)[0]


def lint_with_outcome(
    *texts: str | bytes,
    gates: bool = True,
    strict: bool = False,
    explicit: bool = True,
    attached: AttachedBy | None = None,
) -> tuple[list[Finding], LintSummary]:
    one = linter(gates=gates, strict=strict, attached=attached)
    findings: list[Finding] = []
    for number, text in enumerate(texts):
        data = text.encode() if isinstance(text, str) else text
        findings += one.lint(Source(f"{number}.yaml", explicit=explicit), BytesIO(data))
    findings += one.finish()
    return findings, one.outcome


def rules_of(*texts: str | bytes, gates: bool = True, strict: bool = False) -> list[str]:
    return [finding.rule for finding in lint(*texts, gates=gates, strict=strict)]


def pod(body: str, name: str = "web", metadata: str = "") -> str:
    """A pod that is fine but for the body, which is indented as `spec`'s content."""
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}{metadata}}}\nspec:\n{body}{CONTAINERS}"


def tolerating(*tolerations: str, metadata: str = "") -> str:
    """A pod with these tolerations, in flow style: `{key: a, operator: Exists}`."""
    return pod("  tolerations:\n" + "".join(f"  - {one}\n" for one in tolerations), metadata=metadata)


def workload(kind: str, pod_spec: str, *, labels: str = "{app: web}", spec: str = "", name: str = "web") -> str:
    """A Deployment, StatefulSet, DaemonSet or ReplicaSet; `pod_spec` is indented by six, `spec` by two."""
    service = "  serviceName: web\n" if kind == "StatefulSet" else ""
    return (
        f"apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n{service}{spec}"
        f"  selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {labels}}}\n    spec:\n"
        f"{pod_spec}      containers: [{{name: app, image: 'app:1'}}]\n"
    )


def node(name: str, *taints: str, labels: str = "{}", spec: str = "") -> str:
    """A node with taints in flow style."""
    listed = "  taints:\n" + "".join(f"  - {one}\n" for one in taints) if taints else ""
    return f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {labels}}}\nspec:\n{spec}{listed}"


def stream(*documents: str) -> str:
    return "---\n".join(documents)
