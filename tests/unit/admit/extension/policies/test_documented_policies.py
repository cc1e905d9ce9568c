"""docs/policies.md: the policy that it shows, and the limits that it names."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.admit.extension.plain_world import PlainWorld, creation

from moorage.admit.extension.attributes import ObjectKind, ObjectResource
from moorage.admit.extension.policies.evaluation import BUDGET, CONDITIONS_BUDGET
from moorage.admit.extension.policies.validating import validate_by_policies
from moorage.admit.extension.remarks import Remarks
from moorage.admit.extension.steps import without_calls
from moorage.match.cel.evaluate.steps import COST_LIMIT
from moorage.match.cel.libraries.authz import CHECK_COST
from moorage.model.api_error import ApiError

PAGE = (Path(__file__).parents[5] / "docs/policies.md").read_text(encoding="utf-8")


def ask(*tolerations: Any) -> None:
    example = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    policy, binding = yaml.safe_load_all(example[1])
    world = PlainWorld()
    world.put_namespace("team-a")
    world.put_policy("bounded-stay", policy["spec"], binding["spec"])
    pod = {"metadata": {"name": "p", "namespace": "team-a"}, "spec": {"tolerations": list(tolerations)}}
    attributes = creation(pod, resource=ObjectResource("", "v1", "pods"), kind=ObjectKind("", "v1", "Pod"))
    without_calls(validate_by_policies(attributes, world, Remarks()))


def test_the_example_refuses_pods_that_stay_for_ever() -> None:
    ask({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3})
    with pytest.raises(ApiError, match="denied request: tolerates everything, b for ever"):
        ask({"operator": "Exists", "effect": "NoExecute"}, {"key": "b", "operator": "Exists", "effect": "NoExecute"})


def test_the_page_names_the_limits() -> None:
    for limit in (COST_LIMIT, BUDGET, CONDITIONS_BUDGET, CHECK_COST):
        assert f"{limit:,}" in PAGE
