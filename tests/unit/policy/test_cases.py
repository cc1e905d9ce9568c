"""Test cases are read with the place of everything that is wrong with them."""

from pathlib import Path

import pytest

from moorage.policy.cases import (
    API_VERSION,
    CREATE,
    DELETE,
    KIND,
    UPDATE,
    UnreadableCases,
    read_suites,
    subset_difference,
)

POD = "{apiVersion: v1, kind: Pod, metadata: {name: p}}"
HEAD = f"apiVersion: {API_VERSION}\nkind: {KIND}\npolicies: [policy.yaml]\ncases:\n"


def written(folder: Path, text: str) -> str:
    (folder / "policy.yaml").write_text("{apiVersion: v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}}")
    path = folder / "cases.yaml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("objects", "operation"),
    [
        (f"object: {POD}", CREATE),
        (f"object: {POD}\n  oldObject: {POD}", UPDATE),
        (f"oldObject: {POD}", DELETE),
        (f"object: {POD}\n  operation: CREATE", CREATE),
    ],
)
def test_the_operation_follows_from_the_objects(objects: str, operation: str, tmp_path: Path) -> None:
    (suite,) = read_suites([written(tmp_path, f"{HEAD}- name: a\n  {objects}\n  expect: allow\n")])
    assert [(case.operation, case.line) for case in suite.cases] == [(operation, 5)]


@pytest.mark.parametrize(
    ("case", "line", "complaint"),
    [
        (
            f"- name: a\n  object: {POD}\n  expect: maybe\n",
            7,
            "cases[0].expect: 'maybe': one of allow, deny, invalid is needed",
        ),
        (
            f"- name: a\n  object: {POD}\n  expect: allow\n  users: x\n",
            8,
            "cases[0].users: unknown field; there are name, object,",
        ),
        (
            f"- name: a\n  object: {POD}\n  expect: {{decide: allow}}\n",
            7,
            "expect.decide: unknown field; there are decision",
        ),
        (f"- object: {POD}\n  expect: allow\n", 5, "missing required field `name`"),
        ("- name: a\n  object: {kind: Pod}\n  expect: allow\n", 6, "cases[0].object: apiVersion is missing"),
        ("- name: a\n  expect: allow\n", 5, "CREATE needs an object"),
        (f"- name: a\n  object: {POD}\n  operation: UPDATE\n  expect: allow\n", 5, "UPDATE needs an oldObject"),
        (f"- name: a\n  object: {POD}\n  operation: DELETE\n  expect: allow\n", 5, "DELETE is of an oldObject"),
        (f"- name: a\n  object: {POD}\n  operation: CONNECT\n  expect: allow\n", 5, "CONNECT needs a subresource"),
        ("- name: a\n  object: absent.yaml\n  expect: allow\n", 6, "No such file or directory"),
        (f"- name: a\n  object: {POD}\n  expect: {{decision: allow, message: x}}\n", 7, "message of a refusal"),
        (
            f"- name: a\n  object: {POD}\n  expect: allow\n- name: a\n  object: {POD}\n  expect: deny\n",
            8,
            "the name 'a'",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line(case: str, line: int, complaint: str, tmp_path: Path) -> None:
    path = written(tmp_path, HEAD + case)
    with pytest.raises(UnreadableCases) as caught:
        list(read_suites([path]))
    assert str(caught.value).startswith(f"{path}:{line}:")
    assert complaint in str(caught.value)


def test_a_missing_file_of_policies_is_named_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, f"apiVersion: {API_VERSION}\nkind: {KIND}\npolicies:\n- absent\ncases: []\n")
    with pytest.raises(UnreadableCases, match=r"cases\.yaml:4: policies\[0\]: absent: No such file"):
        list(read_suites([path]))


def test_cases_without_a_policy_are_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, HEAD.replace("policy.yaml", "other.yaml").replace("cases:", "cases: []"))
    (tmp_path / "other.yaml").write_text(POD)
    wanted = "policies: no ValidatingAdmissionPolicy and no MutatingAdmissionPolicy in other.yaml"
    with pytest.raises(UnreadableCases, match=f":3: {wanted}"):
        list(read_suites([path]))


def test_input_without_cases_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableCases, match="no document with"):
        list(read_suites([written(tmp_path, POD)]))


def test_an_object_may_be_the_path_of_a_file_with_one(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(f"---\n{POD}\n")
    (suite,) = read_suites([written(tmp_path, f"{HEAD}- name: a\n  object: pod.yaml\n  expect: allow\n")])
    assert suite.cases[0].object == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    (tmp_path / "pod.yaml").write_text(f"{POD}\n---\n{POD}\n")
    with pytest.raises(UnreadableCases, match="2 objects where there should be one"):
        list(read_suites([str(tmp_path / "cases.yaml")]))


@pytest.mark.parametrize(
    ("wanted", "given", "difference"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, ""),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b is 2, want 1"),
        ({"a": {"b": 1}}, {"a": {}}, "a.b is absent, want 1"),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}]}, ""),
        ({"a": [1]}, {"a": [1, 2]}, "a is [1,2], want [1]"),
        ({"a": [{"b": 1}]}, {"a": [{"b": 3}]}, "a[0].b is 3, want 1"),
    ],
)
def test_only_the_fields_that_are_named_are_compared(wanted: object, given: object, difference: str) -> None:
    assert subset_difference(wanted, given) == difference
