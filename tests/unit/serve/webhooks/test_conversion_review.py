"""Check answers of conversion webhooks as Kubernetes does, in its words."""

from typing import Any

import pytest

from moorage.serve.webhooks.conversion_review import ConversionFailed, ConversionReview

Raw = dict[str, Any]
OLD: Raw = {
    "apiVersion": "g.example.com/v1",
    "kind": "Gadget",
    "metadata": {"name": "a", "namespace": "n", "uid": "1", "generation": 3, "labels": {"x": "y"}},
}
OF = "conversion webhook for g.example.com/v1, Kind=Gadget"


def new(**changes: Any) -> Raw:
    return {**OLD, "apiVersion": "g.example.com/v2", **changes}


def metadata(**changes: Any) -> Raw:
    return new(metadata={**OLD["metadata"], **changes})


def read(converted: Any = None, count: int = 1, versions: tuple[str, ...] = ("v1",), **response: Any) -> list[Raw]:
    review = ConversionReview([OLD] * count, "g.example.com/v2", "u", versions)
    sent = review.document()
    objects = [new()] * count if converted is None else converted
    given = {"uid": "u", "result": {"status": "Success"}, "convertedObjects": objects, **response}
    return review.read({"apiVersion": sent["apiVersion"], "kind": "ConversionReview", "response": given})


def failure(*arguments: Any, **response: Any) -> tuple[str, str]:
    with pytest.raises(ConversionFailed) as failed:
        read(*arguments, **response)
    return failed.value.failure_type.removeprefix("conversion_webhook_").removesuffix("_failure"), str(failed.value)


def test_metadata_stays_but_for_labels_and_annotations() -> None:
    changed = metadata(labels={"b": "c"}, annotations={"d": "e"}, generation=7, finalizers=["f"])
    [converted] = read([changed])
    assert converted["metadata"] == {**OLD["metadata"], "labels": {"b": "c"}, "annotations": {"d": "e"}}
    assert read([metadata(labels=None)])[0]["metadata"].keys() == {"name", "namespace", "uid", "generation"}


def test_first_known_version_of_the_review_is_used() -> None:
    review = ConversionReview([OLD], "g.example.com/v2", "u", ("v7", "v1beta1", "v1"))
    assert review.document() == {
        "kind": "ConversionReview",
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "request": {"uid": "u", "desiredAPIVersion": "g.example.com/v2", "objects": [OLD]},
    }
    assert read(versions=("v1beta1",), uid="another") == [new()]  # which v1beta1 does not look at
    with pytest.raises(ConversionFailed, match="no supported conversion review versions"):
        ConversionReview([OLD], "g.example.com/v2", "u", ("v7",))


def test_answers_that_are_malformed() -> None:
    status = {"result": {"status": "Failure"}}
    assert failure(**status) == (
        "malformed_response",
        f"{OF} failed: response.result.status was 'Failure', not 'Success'",
    )
    assert failure(result=None)[1] == f"{OF} failed: response.result.status was '', not 'Success'"
    assert failure(result={"status": "Failure", "message": "no"})[1] == f"{OF} failed: no"
    assert failure(uid="w")[1] == f'{OF} failed: expected response.uid="u", got "w"'
    review = ConversionReview([OLD], "g.example.com/v2", "u", ("v1",))
    expected = "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got"
    with pytest.raises(ConversionFailed, match=expected):
        review.read({"apiVersion": "v1", "kind": "Status"})
    with pytest.raises(ConversionFailed, match="no response provided"):
        review.read({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"})


def test_wrong_number_of_objects() -> None:
    assert failure([]) == ("partial_response", f"{OF} returned 0 objects, expected 1")
    assert failure([new(), new()])[1] == f"{OF} returned 2 objects, expected 1"


@pytest.mark.parametrize(
    ("converted", "one", "of_many"),
    [
        (
            new(apiVersion="g.example.com/v9"),
            "invalid object at index 0: invalid groupVersion (expected g.example.com/v2, received g.example.com/v9)",
            "invalid converted object at index 1: invalid groupVersion (expected g.example.com/v2, received "
            "g.example.com/v9)",
        ),
        (
            new(kind="Other"),
            "invalid object at index 0: invalid kind (expected Gadget, received Other)",
            "invalid converted object at index 1: invalid kind (expected Gadget, received Other)",
        ),
        (
            metadata(name="other"),
            "invalid object: must have the same name: a != other",
            "invalid converted object at index 1: must have the same name: a != other",
        ),
        (
            metadata(uid=None),
            "invalid object: must have the same UID: 1 != ",
            "invalid converted object at index 1: must have the same UID: 1 != ",
        ),
        (
            metadata(labels=["x"]),
            "invalid metadata: invalid metadata.labels of type []interface {} in converted object",
            "invalid metadata in object at index 1: invalid metadata.labels of type []interface {} in converted object",
        ),
        (
            metadata(annotations={"x": 1}),
            "invalid metadata: metadata.annotations[x] must be a string, but is int64 in converted object",
            "invalid metadata in object at index 1: metadata.annotations[x] must be a string, but is int64 in "
            "converted object",
        ),
    ],
)
def test_objects_that_are_not_what_was_asked_for(converted: Raw, one: str, of_many: str) -> None:
    assert failure([converted]) == ("invalid_converted_object", f"{OF} returned {one}")
    assert failure([new(), converted], 2)[1] == f"{OF} returned {of_many}"


def test_new_labels_are_validated() -> None:
    assert "metadata.labels: Invalid value" in failure([metadata(labels={"-": "b"})])[1]


@pytest.mark.parametrize("junk", [None, 7, "text", [], {}, {"kind": "Gadget"}])
def test_anything_may_be_among_the_objects(junk: Any) -> None:
    assert failure([junk])[0] == "invalid_converted_object"
