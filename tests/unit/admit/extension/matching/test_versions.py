"""Objects in the version that rules matched: as they are, converted, or by a webhook that is called for it."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests.unit.admit.extension.plain_world import WIDGETS, PlainWorld, creation

from moorage.admit.extension.attributes import Attributes, ObjectKind, ObjectResource
from moorage.admit.extension.matching.matcher import Versioned
from moorage.admit.extension.matching.versions import ObjectVersions, converted
from moorage.admit.extension.remarks import NotCalled, Remarks
from moorage.admit.extension.steps import ConversionAnswer, ConversionCall, Steps, advance, without_calls
from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError

_V1, _V1BETA1 = ObjectKind(WIDGETS, "v1", "Widget"), ObjectKind(WIDGETS, "v1beta1", "Widget")


def _widget(version: str = "v1", **fields: Any) -> Raw:
    return {"apiVersion": f"{WIDGETS}/{version}", "kind": "Widget", "metadata": {"name": "w"}, **fields}


def _request(document: Raw | None, old: Raw | None = None) -> Attributes:
    attributes = creation(_widget(), resource=ObjectResource(WIDGETS, "v1", "widgets"), kind=_V1)
    attributes.object, attributes.old = document, old
    return attributes


@pytest.fixture
def converting() -> PlainWorld:
    """Return a world whose widgets are converted by a webhook."""
    world = PlainWorld()
    world.converts_by_webhook = True
    return world


def _call(document: Raw) -> ConversionCall:
    return ConversionCall(f"widgets.{WIDGETS}", _V1BETA1, f"{WIDGETS}/v1beta1", document)


def _one(document: Raw, world: PlainWorld, remarks: Remarks | None = None) -> Steps[list[Raw]]:
    return converted([document], _V1BETA1, world, remarks or Remarks())


def _asked(versions: ObjectVersions, answers: Sequence[ConversionAnswer]) -> Versioned:
    """Return what a webhook has made of the objects."""
    assert versions.at_once(_V1BETA1) is None
    steps = versions.by_webhook(_V1BETA1)
    assert len(advance(steps).calls) == len(answers)
    step = advance(steps, answers)
    assert step.result is not None
    return step.result


def test_what_is_in_the_version_stays_as_it_is(converting: PlainWorld) -> None:
    attributes = _request(_widget())
    same = ObjectVersions(attributes, converting, Remarks()).at_once(_V1)
    assert same is not None
    assert same.object is attributes.object


def test_other_versions_are_converted_at_once_and_once_if_no_webhook_does_it() -> None:
    versions = ObjectVersions(_request(_widget()), PlainWorld(), Remarks())
    other = versions.at_once(_V1BETA1)
    assert other == (_V1BETA1, _widget("v1beta1"), None)
    assert versions.at_once(_V1BETA1) is other
    assert advance(_one(_widget(), PlainWorld())).result == [_widget("v1beta1")]


def test_a_webhook_is_asked_for_object_and_old_object_at_the_same_time(converting: PlainWorld) -> None:
    old, new = _widget(spec=1), _widget(spec=2)
    versions = ObjectVersions(_request(new, old), converting, Remarks())
    steps = versions.by_webhook(_V1BETA1)
    assert advance(steps).calls == [_call(old), _call(new)]
    other = advance(steps, [ConversionAnswer(_widget("v1beta1", a=1)), ConversionAnswer(_widget("v1beta1", a=2))])
    assert other.result == (_V1BETA1, _widget("v1beta1", a=2), _widget("v1beta1", a=1))


@pytest.mark.parametrize("is_deletion", [False, True])
def test_what_is_not_there_is_not_converted(converting: PlainWorld, is_deletion: bool) -> None:
    attributes = _request(None, _widget()) if is_deletion else _request(_widget())
    made = _widget("v1beta1", spec=1)
    found = _asked(ObjectVersions(attributes, converting, Remarks()), [ConversionAnswer(made)])
    assert (found.object, found.old) == ((None, made) if is_deletion else (made, None))


def test_a_webhook_is_asked_once_until_the_object_changes(converting: PlainWorld) -> None:
    attributes = _request(_widget())
    versions = ObjectVersions(attributes, converting, Remarks())
    found = _asked(versions, [ConversionAnswer(_widget("v1beta1"))])
    assert versions.at_once(_V1BETA1) is found
    attributes.object = _widget()
    assert versions.at_once(_V1BETA1) is None
    versions.keep(found)
    assert versions.at_once(_V1BETA1) is found


def test_large_objects_are_left_to_another_thread(converting: PlainWorld) -> None:
    steps = _one(_widget(), converting)
    advance(steps)
    step = advance(steps, [ConversionAnswer(_widget("v1beta1"), is_large=True)])
    assert (step.calls, step.is_over) == ((), False)
    assert advance(steps, ()).result == [_widget("v1beta1")]


def test_where_webhooks_are_not_called_the_version_alone_is_changed(converting: PlainWorld) -> None:
    remarks = Remarks()
    assert without_calls(_one(_widget(spec=1), converting, remarks)) == [_widget("v1beta1", spec=1)]
    assert remarks.not_called == [NotCalled(f"widgets.{WIDGETS}", "", is_mutating=False, is_conversion=True)]


def test_the_failure_of_the_old_object_comes_first(converting: PlainWorld) -> None:
    steps = ObjectVersions(_request(_widget(), _widget()), converting, Remarks()).by_webhook(_V1BETA1)
    advance(steps)
    with pytest.raises(ApiError) as refused:
        advance(steps, [ConversionAnswer(failure="old"), ConversionAnswer(failure="new")])
    assert (refused.value.code, refused.value.message) == (500, "old")
