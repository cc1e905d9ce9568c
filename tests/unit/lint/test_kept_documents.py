"""What the linter keeps until the end of the input: documents without their YAML nodes, few places."""

import gc
import io

import pytest
from yaml import Node

from moorage.lint.catalogue import selected_rules
from moorage.lint.engine import Linter
from moorage.lint.finding import SourcePlace
from moorage.lint.sources import Source
from moorage.lint.subject import Subject
from moorage.model.gates import all_gates

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web-%d, namespace: shop}
spec:
  tolerations: [{key: spot, operator: Lt, value: "5", effect: NoExecute}]
  containers: [{name: app, image: web:v1}]
"""
PODS = 40


def test_linting_keeps_no_nodes_and_asks_for_few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    place = Subject.place

    def counted(subject: Subject, path: str) -> SourcePlace:
        asked.append(path)
        return place(subject, path)

    monkeypatch.setattr(Subject, "place", counted)
    linter = Linter(all_gates(), selected_rules((), ()))
    text = "---\n".join(POD % number for number in range(PODS))
    assert list(linter.lint(Source("pods.yaml"), io.BytesIO(text.encode()))) == []
    # The plugins of admission may complain about containers of each; all else stands once for equal tolerations.
    others = [path for path in asked if path != "spec.containers"]
    assert 0 < len(others) < 10
    gc.collect()
    assert not [one for one in gc.get_objects() if isinstance(one, Node)]
    assert [finding.rule for finding in linter.finish()] == ["namespace-missing"]
