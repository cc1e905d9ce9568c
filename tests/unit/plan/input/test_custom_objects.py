"""Custom objects are admitted by the definitions in the input; none of them is planned."""

import sys
from typing import Any

import pytest
from tests.unit.plan.planning import Plan, node, pod

from moorage.plan.input.inventory import Key

Raw = dict[str, Any]
#: Where custom objects without a definition need nothing.
ENGINE = "moorage.plan.input.custom_objects"


def definition(kind: str = "Widget", group: str = "example.com", **more: Any) -> Raw:
    plural = f"{kind.lower()}s"
    sizes = {"type": "object", "properties": {"size": {"type": "integer", "maximum": 3}}}
    schema = {"type": "object", "properties": {"spec": sizes, "status": {"type": "object"}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", **more},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def widget(name: str, size: Any = 1, *, version: str = "example.com/v1", **metadata: Any) -> Raw:
    about = {"name": name, **metadata}
    return {"apiVersion": version, "kind": "Widget", "metadata": about, "spec": {"size": size}}


def quota(count: int, **status: Any) -> Raw:
    spec = {"hard": {"count/widgets.example.com": str(count)}}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": spec, **status}


def messages(plan: Plan) -> list[str]:
    return [note.message for note in plan.outcome.notes]


TOO_LARGE = (
    'Widget.example.com "small" is invalid: spec.size: Invalid value: 5: spec.size in body should be less than or '
    "equal to 3"
)


@pytest.mark.parametrize("is_below", [False, True])
def test_an_object_that_its_schema_refuses_is_noted_with_its_line(is_below: bool) -> None:
    objects = [definition(), widget("small", 5)]
    plan = Plan(*(reversed(objects) if is_below else objects), node("n1"), pod("a"))
    assert plan.where == {"a": "n1"}
    assert plan.outcome.rejected == 1
    (note,) = plan.outcome.notes
    assert (note.object, note.message) == ("Widget default/small", TOO_LARGE)
    assert note.line > (5 if is_below else 30)  # the line of the size, not that of the object
    assert plan.outcome.passed_over == {}


def test_an_object_that_is_accepted_is_passed_over() -> None:
    plan = Plan(definition(), widget("small"), node("n1"), pod("a"))
    assert plan.outcome.passed_over == {"Widget": 1}
    assert not plan.outcome.notes
    assert Key("Widget.example.com", "default", "small") not in plan.planner.inventory.items


def test_an_object_without_a_definition_is_passed_over_without_loading_the_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, ENGINE, raising=False)
    plan = Plan(widget("small", 5), node("n1"))
    assert plan.outcome.passed_over == {"Widget": 1}
    assert not plan.outcome.notes
    assert ENGINE not in sys.modules


def test_an_object_of_another_group_than_the_definition_is_passed_over() -> None:
    plan = Plan(definition(), widget("small", 5, version="other.com/v1"))
    assert plan.outcome.passed_over == {"Widget": 1}
    assert plan.outcome.rejected == 0


def test_a_version_that_the_definition_does_not_serve_is_refused() -> None:
    plan = Plan(definition(), widget("small", version="example.com/v7"))
    assert messages(plan) == ['no matches for kind "Widget" in version "example.com/v7"']
    assert plan.outcome.rejected == 1


def test_metadata_of_the_wrong_type_is_refused() -> None:
    plan = Plan(definition(), widget("small", labels={"a": 1}))
    (message,) = messages(plan)
    assert message.startswith('Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number')


def test_an_object_that_exists_is_not_admitted_again() -> None:
    plan = Plan(definition(uid="d"), widget("small", 5, uid="w"))
    assert plan.outcome.passed_over == {"Widget": 1}
    assert not plan.outcome.notes


def test_an_object_that_comes_again_is_an_update() -> None:
    plan = Plan(definition(), widget("small"), widget("small", 2), widget("small", 5))
    again, refused = messages(plan)
    assert again.startswith("stands here again (first at ")
    assert refused.startswith(f"{TOO_LARGE} (as an update of the one at ")
    assert plan.outcome.passed_over == {"Widget": 2}
    (item,) = plan.planner.inventory.custom.values()
    assert item.raw["spec"] == {"size": 2}


def test_kinds_of_two_groups_may_share_a_name() -> None:
    other = widget("small", 2, version="other.com/v1")
    plan = Plan(definition(), definition(group="other.com"), widget("small"), other)
    assert not plan.outcome.notes
    assert {key.kind for key in plan.planner.inventory.custom} == {"Widget.example.com", "Widget.other.com"}


def test_a_quota_counts_custom_objects() -> None:
    plan = Plan(quota(2), definition(), widget("a", uid="a"), widget("b"), widget("c"))
    (message,) = messages(plan)
    assert message == (
        'widgets.example.com "c" is forbidden: exceeded quota: q, requested: count/widgets.example.com=1, '
        "used: count/widgets.example.com=2, limited: count/widgets.example.com=2"
    )
    assert plan.outcome.passed_over == {"Widget": 2}


def test_a_namespace_that_the_input_does_not_have_is_noted() -> None:
    plan = Plan(definition(), widget("small", namespace="gone"))
    (note,) = plan.outcome.notes
    assert (note.object, plan.outcome.rejected) == ("Widget gone/small", 0)
    assert "gone" in note.message
