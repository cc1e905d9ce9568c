"""Text, JSON and JUnit have the same results."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from moorage.cli.main import moorage

pytestmark = pytest.mark.real_time
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "bounded-stay-by-policy"
GATES = "--feature-gates=TaintTolerationComparisonOperators=true"
POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: seconds-with-thresholds
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  variables:
  - name: thresholds
    expression: object.spec.?tolerations.orValue([]).filter(t, t.?operator.orValue("") in ["Lt", "Gt"])
  - name: evicting
    expression: variables.thresholds.filter(t, t.?effect.orValue("") in ["", "NoExecute"])
  validations:
  - expression: variables.evicting.all(t, has(t.tolerationSeconds))
    messageExpression: >-
      "tolerationSeconds is missing for "
      + variables.evicting.filter(t, !has(t.tolerationSeconds)).map(t, string(t.key)).join(", ")
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: seconds-with-thresholds
spec:
  policyName: seconds-with-thresholds
  validationActions: [Deny]
"""
POD = """
apiVersion: v1
kind: Pod
metadata:
  name: worker
spec:
  containers:
  - {name: worker, image: worker}
  tolerations:
  - {key: failure-probability, operator: Lt, value: "5", effect: NoExecute}
"""
FAILING = """
apiVersion: moorage.dev/v1alpha1
kind: PolicyTest
metadata: {name: "<&>"}
policies: [thresholds.yaml]
cases:
- name: wrong on purpose
  object: spot-pod.yaml
  expect: allow
- name: unknown kind
  object: {apiVersion: x.example.com/v1, kind: Widget, metadata: {name: w}}
  expect: allow
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "thresholds.yaml").write_text(POLICY)
    (tmp_path / "spot-pod.yaml").write_text(POD)
    return tmp_path


@pytest.fixture
def failing(folder: Path) -> str:
    (folder / "tests.yaml").write_text(FAILING)
    return str(folder / "tests.yaml")


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(moorage, ["policy", *arguments], standalone_mode=False)
    assert result.exception is None, result.exception
    return result.return_value, result.output


def test_the_examples_pass() -> None:
    code, text = run("test", GATES, str(EXAMPLE))
    assert code == 0
    assert text.splitlines()[-1] == "8 passed, 0 failed"


def test_a_failure_names_its_place_and_the_expression(failing: str) -> None:
    code, text = run("test", GATES, failing)
    assert code == 1
    assert f"FAIL  wrong on purpose  ({failing}:7)" in text
    assert "spec.validations[0].expression: variables.evicting.all" in text
    assert text.splitlines()[-1] == "0 passed, 2 failed"


def test_junit_has_failures_and_errors(failing: str) -> None:
    code, text = run("test", GATES, "-o", "junit", failing)
    (suite,) = ElementTree.fromstring(text)
    assert (code, suite.attrib) == (1, {"name": "<&>", "tests": "2", "failures": "1", "errors": "1"})
    assert [child.tag for case in suite for child in case] == ["failure", "error"]


def test_unreadable_input_exits_2(tmp_path: Path) -> None:
    (tmp_path / "tests.yaml").write_text("apiVersion: moorage.dev/v1alpha1\nkind: PolicyTest\ncases: 3\n")
    assert run("test", str(tmp_path))[0] == 2
    assert run("test", str(tmp_path / "absent"))[0] == 2


def test_an_explanation_exits_1_for_what_is_refused(folder: Path) -> None:
    code, text = run("explain", GATES, str(folder / "thresholds.yaml"), str(folder / "spot-pod.yaml"))
    assert code == 1
    assert "variables.evicting.all(t, has(t.tolerationSeconds))  → false" in text
