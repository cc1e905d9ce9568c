"""`moorage.lint`, `moorage.admit` and `moorage.tolerates`: what the API server and the matchers say, as objects."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from moorage.admit.admission import Admitted, Rejected
from moorage.admit.chain import Admission
from moorage.admit.objects_world import ObjectsWorld
from moorage.library.manifests import (
    Gates,
    Manifest,
    Manifests,
    MoorageError,
    Texts,
    as_moorage_errors,
    gates_of,
    object_from,
    sources_from,
    texts_of,
)
from moorage.lint.catalogue import SelectionError, selected_rules
from moorage.lint.engine import Linter
from moorage.lint.finding import Finding, Severity
from moorage.lint.report.documents import needs_data, summary_data
from moorage.lint.report.form import LintSummary, Problem
from moorage.lint.run import Run
from moorage.match.tolerations import compile_tolerations
from moorage.model.kubernetes_version import minor_version
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration


class LintReport(msgspec.Struct, frozen=True):
    """What was found. Fields have the names of `moorage lint -o json`.

    `problems` are sources that could not be read or are empty, `needs` which features and releases the input needs,
    `summary` the totals. `ignored` are the findings that `# moorage: ignore RULE` comments cover; `ignore_mistakes`
    tells of comments that name no rule, or one that does not exist.
    """

    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...]
    needs: dict[str, Any]
    summary: dict[str, Any]
    ignored: tuple[Finding, ...] = ()
    ignore_mistakes: tuple[str, ...] = ()

    @property
    def objects(self) -> int:
        """How many objects were checked."""
        return int(self.summary["objects"])

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings for which the API server would refuse the object."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)

    @property
    def is_clean(self) -> bool:
        """True if everything could be read and nothing was found."""
        return not self.findings and not self.problems


class _Collecting:
    """A report form that keeps what it is told."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def begin(self) -> None: ...

    def source(self, name: str, findings: Sequence[Finding], problem: Problem | None = None) -> None:
        self.findings += findings

    def end(self, outcome: LintSummary) -> None: ...


def lint(
    manifests: Manifests,
    *,
    gates: Gates | None = None,
    select: Texts = (),
    ignore: Texts = (),
    strict: bool = False,
    allow_empty: bool = False,
    kubernetes_version: str | None = None,
) -> LintReport:
    """Check manifests as `moorage lint` does. Raises MoorageError.

    `select` and `ignore` are names of rules, `cel-*` for a family; `strict` makes unknown and duplicate fields errors.
    Input without any object is a problem of the report, unless `allow_empty`. `kubernetes_version`, such as "1.33",
    checks for that release: its gates, their defaults, and the versions that it serves.
    """
    with as_moorage_errors(SelectionError, ValueError):
        rules = selected_rules(texts_of(select, "select"), texts_of(ignore, "ignore"))
        release = None if kubernetes_version is None else minor_version(kubernetes_version)
    collected, problems = _Collecting(), list[Problem]()
    linter = Linter(gates_of(gates, release), rules, strict=strict)
    run = Run(linter, collected, problems.append, allows_empty=allow_empty, shows_ignored=True)
    outcome = run.lint(sources_from(manifests), lambda: None)
    return LintReport(
        tuple(finding for finding in collected.findings if not finding.ignored),
        tuple(problems),
        needs_data(outcome),
        summary_data(outcome),
        tuple(finding for finding in collected.findings if finding.ignored),
        tuple(map(str, linter.ignores.mistakes)),
    )


def admit(new: Manifest, old: Manifest | None = None, *, gates: Gates | None = None) -> Admitted | Rejected:
    """Decide about one object as the API server does, without one: a creation, or an update of `old`.

    `Admitted` has the `object` with its defaults and the `warnings`; `Rejected` has the `errors` and the `status` that
    a client would be sent. Classes and namespaces that the object names are taken to exist: `assumptions` lists them.
    Raises MoorageError if the text holds no object, or several.
    """
    with as_moorage_errors(ValueError):
        chain = Admission(ObjectsWorld(), gates_of(gates))
        return chain.admit(object_from(new), None if old is None else object_from(old))


class Tolerance(msgspec.Struct, frozen=True):
    """Whether a taint is tolerated: true or false in conditions.

    `index` is the position of the first toleration that matches, -1 if none does; `reason` says why none does.
    """

    tolerated: bool
    index: int = -1
    reason: str = ""

    def __bool__(self) -> bool:
        return self.tolerated


def tolerates(
    tolerations: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    taint: str | Mapping[str, Any],
    *,
    gates: Gates | None = None,
) -> Tolerance:
    """Tell whether a pod tolerates a taint, and if not, why. Raises MoorageError.

    `tolerations` is one toleration, a list of them, or a Pod; `taint` is a mapping or `key=value:Effect` as kubectl
    writes it.
    """
    given: Any = tolerations
    if isinstance(tolerations, Mapping):
        given = (tolerations["spec"] or {}).get("tolerations") or [] if "spec" in tolerations else [tolerations]
    if not all(isinstance(one, Mapping) for one in given):
        raise MoorageError("tolerations are mappings: one, a list of them, or a Pod")
    with as_moorage_errors(ConversionError):
        views = [convert_view(dict(one), Toleration) for one in given]
        wanted = convert_view(_taint(taint) if isinstance(taint, str) else dict(taint), Taint)
    compiled = compile_tolerations(views, gates_of(gates))
    found = compiled.first_matching(wanted)
    if found is not None:
        return Tolerance(True, found[0])
    return Tolerance(False, reason=compiled.explain(wanted) or "")


def _taint(text: str) -> dict[str, str]:
    body, colon, effect = text.rpartition(":")
    key, _, value = body.partition("=")
    if not colon or not key or not effect:
        raise MoorageError(f"{text!r} is not of the form KEY=VALUE:EFFECT or KEY:EFFECT")
    return {"key": key, "value": value, "effect": effect}
