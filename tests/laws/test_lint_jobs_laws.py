"""However many processes lint, the report is the same to the byte: findings, order, counts, ignored and unreadable."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, examples

from moorage.lint import checked_alone, finding
from moorage.lint.catalogue import rules
from moorage.lint.checked_alone import Ahead
from moorage.lint.engine import Linter
from moorage.lint.jobs import read_ahead, worker
from moorage.lint.jobs.read_ahead import ReadAhead, Threshold
from moorage.lint.reading import plain_readings
from moorage.lint.report.documents import JsonForm
from moorage.lint.report.form import TextForm
from moorage.lint.run import Run
from moorage.lint.sources import sources_of
from moorage.model.gates import all_gates, default_gates
from moorage.model.text import document_chunks

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.lint.jobs.worker import Found

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")

_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: %s}\nspec:\n  containers: [{name: a, image: b}]\n"
_WEB = _POD % ("web", "shop")
_PIECES = (
    _WEB,
    _POD % ("db", "'7'"),
    _POD % ("Bad_Name", "shop"),
    _WEB + "  tolerations:\n  - {key: sla, operator: Gt, value: '950', effect: NoSchedule}\n",
    _WEB + "  tolerations:\n  # moorage: ignore toleration-*\n  - {key: sla, operator: Lt, value: '0'}\n",
    _WEB + "  tolerations:\n  - {key: sla, operator: Lt, value: '0'}\n",
    _WEB + "  tolerations:\n  - {expression: \"taint.key == 'sla' && 1 / 0 > 1\"}\n",
    _WEB + "  nodeSelector: {beta.kubernetes.io/arch: amd64}\n",
    _WEB + "  tolerationz: []\n  nodeName: a\n  nodeName: b\n",
    _WEB + "  nodeSelector: &s {disk: ssd}\n  priorityClassName: high\n# *s\n",
    _WEB.replace("namespace: shop", "uid: a-b, namespace: 'Bad_One'"),
    "# moorage: ignore rejected -- here\n" + _POD % ("Bad_Name", "shop"),
    "# moorage: ignore nothing-known\n",
    "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nspec: {taints: [{key: sla, value: high, effect: NoSchedule}]}\n",
    "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: shop}\nspec: {hard: {pods: '1'}}\n",
    "apiVersion: v1\nkind: LimitRange\nmetadata: {name: l, namespace: shop}\n"
    "spec: {limits: [{type: Pod, max: {cpu: 1}}]}\n",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  replicas: 2\n"
    "  selector: {matchLabels: {a: b}}\n"
    "  template:\n    metadata: {labels: {a: b}}\n"
    "    spec: {containers: [{name: c, image: d, resources: {limits: {cpu: 1500m}}}]}\n",
    "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: p}\n"
    "spec: {minAvailable: 2, selector: {matchLabels: {a: b}}}\n",
    "apiVersion: resource.k8s.io/v1beta1\nkind: ResourceClaim\nmetadata: {name: r}\n"
    "spec: {devices: {requests: [{name: g, deviceClassName: x, count: no}]}}\n",
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: backups.example.com}\n"
    "spec:\n"
    "  group: example.com\n  scope: Namespaced\n  names: {kind: Backup, plural: backups}\n  versions:\n"
    "  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {keep: "
    "{type: integer}}}}}\n",
    "apiVersion: example.com/v1\nkind: Backup\nmetadata: {name: b}\nkeep: many\n",
    "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec: {template: {spec: {taints: 3}}}\n",
    "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: Bad_Name}}\n- null\n"
    "- {apiVersion: v1, kind: ConfigMap, metadata: {name: good}}\n",
    '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "j"}, "spec": {"containers": []}}\n{\n"a": 1}\n',
    "kind: Pod\n",
    "a: [\n",
    "",
    "null\n",
)
_NO_JOBS = 1


def _report(folder: Path, jobs: int, *, alpha: bool, strict: bool) -> str:
    """Lint a folder, and return the reports as text and JSON, the problems and what else is printed."""
    written: list[str] = []
    gates = all_gates() if alpha else default_gates()

    def note(problem: object) -> None:
        written.append(str(problem))

    for form in (TextForm(written.append, colour=False, width=None), JsonForm(written.append)):
        linter = Linter(gates, frozenset(rules()), strict=strict)
        read = plain_readings
        if jobs > _NO_JOBS:
            read = ReadAhead(jobs, gates, strict=strict, threshold=Threshold(0, 0)).readings
        run = Run(linter, form, note, shows_ignored=True, read=read)
        run.lint(sources_of([str(folder)]), lambda: None, ["."])
        written += map(str, (*linter.contents.mentions(), *linter.ignores.mistakes))
    return "".join(written)


_INPUTS = st.lists(st.lists(st.sampled_from(_PIECES), max_size=12), min_size=1, max_size=4)


@given(_INPUTS, st.sampled_from([2, 3]), st.booleans(), st.booleans())
@settings(LAW_SETTINGS, max_examples=examples(25))
def test_any_number_of_jobs_gives_the_same_report(files: list[list[str]], jobs: int, alpha: bool, strict: bool) -> None:
    _assert_same(files, jobs, alpha=alpha, strict=strict)


def _assert_same(files: list[list[str]], jobs: int, *, alpha: bool, strict: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, pieces in enumerate(files):
            (folder / f"{number}.yaml").write_text("---\n".join(pieces), encoding="utf-8")
        one, several = (_report(folder, each, alpha=alpha, strict=strict) for each in (1, jobs))
    assert several == one


def test_all_pieces_at_once_give_the_same_report() -> None:
    pieces = list(_PIECES)
    _assert_same([pieces * 3, pieces[::-1] * 2], 3, alpha=True, strict=False)


@pytest.mark.parametrize("lost", ["errors", "warnings", "found", "complaints"])
def test_the_law_notices_what_gets_lost_on_the_way(lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    look_at_piece: Callable[..., Found] = worker.look_at_piece
    position = Ahead._fields.index(lost)
    empty: object = {} if lost == "found" else ()

    def losing(*arguments: object, **named: object) -> Found:
        found = look_at_piece(*arguments, **named)
        return found and [(*each[:position], empty, *each[position + 1 :]) for each in found]

    monkeypatch.setattr(worker, "look_at_piece", losing)
    monkeypatch.setattr(read_ahead, "look_at_piece", losing)
    with pytest.raises(AssertionError):
        test_all_pieces_at_once_give_the_same_report()


def test_most_ordinary_pieces_are_looked_at_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    document_of = read_ahead._document

    def counting(*arguments: object) -> object:
        made.append(1)
        return document_of(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(read_ahead, "_document", counting)
    (tmp_path / "a.yaml").write_text("---\n".join(_PIECES[:9]), encoding="utf-8")
    _report(tmp_path, 2, alpha=True, strict=False)
    assert len(made) == 18  # of nine documents, in two forms


def test_small_input_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_started(*arguments: object, **named: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(read_ahead, "Workers", not_started)
    (tmp_path / "a.yaml").write_text("---\n".join([_WEB] * 5), encoding="utf-8")

    def lint(pieces: int) -> int:
        read = ReadAhead(4, all_gates(), strict=False, threshold=Threshold(pieces, 1_000_000)).readings
        linter = Linter(all_gates(), frozenset(rules()))
        form = TextForm(lambda text: None, colour=False, width=None)
        return Run(linter, form, problems.append, read=read).lint(sources_of([str(tmp_path)]), lambda: None).objects

    problems: list[object] = []
    assert (lint(5), problems) == (5, [])
    lint(4)
    assert "a process was started" in str(problems)


def test_lines_are_forgotten_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_chunks, "_BLOCK", 150)
    monkeypatch.setattr(finding, "_MAX_BYTES", 400)
    _assert_same([list(_PIECES), list(_PIECES[::-1])], 2, alpha=True, strict=False)


def test_a_mistake_of_a_rule_affects_the_same_file_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise RecursionError("too deep")

    monkeypatch.setattr(checked_alone, "TOLERATION_CHECKS", [broken])
    _assert_same([[_WEB, *_PIECES[3:7], _WEB] * 9, [_WEB, _PIECES[2]]], 2, alpha=True, strict=False)
