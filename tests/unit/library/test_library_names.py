"""Fields of results have the same names in Python and in JSON, but for spelling; docs/library.md lists them."""

import json
import re
import types
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from click.testing import CliRunner

import moorage
from moorage.cli.main import moorage as command
from moorage.plan.difference.two_inputs import InputDiff
from moorage.plan.explain.daemon_set import DaemonExplanation
from moorage.plan.explain.explanation import Explanation
from moorage.plan.outcome import Outcome

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "library.md").read_text(encoding="utf-8")
WORLD = """
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {pool: small}},
 spec: {taints: [{key: old, effect: NoExecute}]}, status: {allocatable: {cpu: "1", memory: 1Gi, pods: "3"}}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: "7"}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: i, resources: {requests: {cpu: 1500m}}}]
      tolerations: [{key: old, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: many}
spec:
  replicas: 9
  selector: {matchLabels: {app: many}}
  template: {metadata: {labels: {app: many}}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: system}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: large}, spec: {containers: [{name: c, image: i,
 resources: {requests: {cpu: 8}}}], nodeSelector: {pool: large}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: UPPER}, spec: {containers: [{name: c, image: i}]}}
"""


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", lambda found: f"_{found[1].lower()}", name)


def unnamed(data: Any, result: Any, path: str = "") -> Iterator[str]:
    """Yield the paths in JSON for which Python has no attribute, or another value."""
    if isinstance(data, dict) and isinstance(result, dict):
        if set(data) != set(map(str, result)):
            yield path
        for key, value in result.items():
            yield from unnamed(data.get(str(key)), value, f"{path}.{key}")
    elif isinstance(data, dict) and not isinstance(result, Outcome):
        for key, value in data.items():
            if key == "version" and not path:
                continue
            missing = object()
            attribute = getattr(result, snake(key), getattr(result, key, missing))  # Kubernetes' own names stay
            if attribute is missing:
                yield f"{path}.{key}"
            elif attribute is not msgspec.UNSET:
                yield from unnamed(value, attribute, f"{path}.{key}")
    elif isinstance(data, list):
        if len(data) != len(result):
            yield path
        for number, (item, one) in enumerate(zip(data, result, strict=False)):
            yield from unnamed(item, one, f"{path}[{number}]")


def printed(*arguments: str) -> Any:
    """Return what a command prints as JSON."""
    return json.loads(CliRunner().invoke(command, [*arguments, "-o", "json"]).output)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "world.yaml"
    path.write_text(WORLD)
    return str(path)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, []),
        ({"headroom": True, "at": "10m"}, ["--headroom", "--at", "10m"]),
        ({"drain": "n1", "cordon": "n2"}, ["--drain", "n1", "--cordon", "n2"]),
        (
            {"taint": "n1=a:NoExecute", "scale": {"deployment/web": 6}},
            ["--taint", "n1=a:NoExecute", "--scale", "deployment/web=6"],
        ),
        ({"rollout": "deployment/web"}, ["--rollout", "deployment/web"]),
    ],
)
def test_a_plan_has_the_names_of_its_json(options: Any, arguments: list[str], file: str) -> None:
    plan = moorage.plan(file, **options)
    document = printed("plan", file, *arguments)
    assert plan.to_dict() == document
    assert list(unnamed(document, plan)) == []


def test_explanations_and_findings_have_the_names_of_their_json(file: str) -> None:
    for target in ("pod/large", "deployment/web", "deployment/many", "daemonset/agent"):
        told = moorage.explain(target, file)
        document = printed("explain", target, "-f", file)
        assert json.loads(json.dumps(told.to_dict(), default=msgspec.to_builtins)) == document
        assert list(unnamed(document, told)) == []
    report, document = moorage.lint(file), printed("lint", file)
    assert document["findings"]
    assert list(unnamed(document, report)) == []


#: Parts of results that are not fields of the JSON: what a plan was made from, and an answer of another command.
INTERNAL = (Outcome, InputDiff)


def result_types(kind: Any, found: dict[str, type]) -> None:
    """Collect the structs that a type is made of."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType, tuple, list, dict):
        for part in get_args(kind):
            result_types(part, found)
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__name__ not in found:
        if issubclass(kind, INTERNAL) or kind.__module__.startswith("moorage.model"):
            return
        found[kind.__name__] = kind
        for name, hint in get_type_hints(kind).items():
            if not name.startswith("_"):
                result_types(hint, found)


def test_fields_are_encoded_by_their_own_names() -> None:
    found: dict[str, type] = {}
    result_types(moorage.Plan, found)
    assert {"PodLine", "Departure", "Rollout", "Note", "FailedLine"} <= set(found)
    for kind in found.values():
        for field in msgspec.structs.fields(kind):
            assert snake(field.encode_name) == field.name, f"{kind.__name__}.{field.name}"


#: The results on the page, and attributes in the place of fields that the JSON does not have.
LISTED: dict[str, dict[str, tuple[str, ...]]] = {
    "Plan": {},
    "PodLine": {},
    "PodDeadline": {},
    "NodeLine": {},
    "FailedLine": {},
    "Preempted": {},
    "Departure": {},
    "EvictionLoop": {},
    "Note": {},
    "Difference": {
        "comparison": ("sentence", "is_worse", "differences"),
        "departures": ("evicted", "replaced"),
        "blocked": ("blocked", "placed", "pending", "failed"),
        "diff": (),
    },
    "Rollout": {},
    "RolloutStep": {},
    "Explanation": {"why": ("sentence", "sentence_keys"), "help": ("suggestions", "together", "not_all_tried")},
    "DaemonExplanation": {"help": ("suggestions", "together", "not_all_tried")},
    "LintReport": {"ignored": (), "ignore_mistakes": ()},
    "Finding": {"place": ("file", "line", "column", "object", "path", "documentation")},
}


def names_of(kind: type[msgspec.Struct]) -> Iterator[str]:
    for name in kind.__struct_fields__:
        if not name.startswith("_"):
            yield from LISTED[kind.__name__].get(name, (name,))


def table() -> str:
    """Return the rows of the page."""
    found: dict[str, Any] = {}
    for kind in (moorage.Plan, moorage.LintReport, Explanation, DaemonExplanation):
        result_types(kind, found)
    rows = []
    for name in LISTED:
        assert all(hasattr(found[name], one) for one in names_of(found[name]))
        rows.append(f"| `{name}` | {', '.join(f'`{one}`' for one in names_of(found[name]))} |\n")
    return "".join(rows)


def test_the_page_lists_the_fields() -> None:
    assert table() in PAGE, table()


def test_enums_are_their_texts(file: str) -> None:
    plan = moorage.plan(file)
    for value in (plan.pods[0].state, plan.notes[0].level):
        assert isinstance(value, Enum)
        assert isinstance(value, str)
