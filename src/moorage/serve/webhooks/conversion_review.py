"""Write the ConversionReview of custom objects, and check what a webhook made of them.

A webhook may change everything but the metadata, of which it may change labels and annotations. Kubernetes:
apiextensions-apiserver, pkg/apiserver/conversion/webhook_converter.go.
"""

from collections.abc import Sequence
from typing import Any, Final

from moorage.admit.metadata import validate_annotations, validate_labels
from moorage.admit.raw import Raw, copy_document

CALL_FAILURE: Final = "conversion_webhook_call_failure"
_MALFORMED: Final = "conversion_webhook_malformed_response_failure"
_PARTIAL: Final = "conversion_webhook_partial_response_failure"
_INVALID: Final = "conversion_webhook_invalid_converted_object_failure"
_GROUP: Final = "apiextensions.k8s.io"
_KIND: Final = "ConversionReview"
_VERSIONS: Final = ("v1", "v1beta1")
#: What a webhook must not change, with Kubernetes' words for it.
_KEPT: Final = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))
_CHANGEABLE: Final = ("labels", "annotations")
_GO_TYPES: Final = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
    type(None): "<nil>",
}


class ConversionFailed(Exception):
    """A webhook did not convert. `failure_type` is what metrics call it; the text begins as Kubernetes' does."""

    def __init__(self, failure_type: str, why: str) -> None:
        super().__init__(why)
        self.failure_type = failure_type


class ConversionReview:
    """One review: objects of one kind that are to be in another version."""

    def __init__(self, objects: Sequence[Raw], api_version: str, uid: str, versions: Sequence[str]) -> None:
        """`versions` are those of ConversionReview that the webhook understands. Raises ConversionFailed."""
        self._objects, self._wanted, self._uid = objects, api_version, uid
        self._version = next((version for version in versions if version in _VERSIONS), "")
        if not self._version:
            raise ConversionFailed(CALL_FAILURE, "no supported conversion review versions")
        first = objects[0]
        self._of = f"conversion webhook for {first.get('apiVersion')}, Kind={first.get('kind')}"

    def document(self) -> Raw:
        """Return what is posted."""
        request = {"uid": self._uid, "desiredAPIVersion": self._wanted, "objects": list(self._objects)}
        return {"kind": _KIND, "apiVersion": f"{_GROUP}/{self._version}", "request": request}

    def failed(self, why: str) -> ConversionFailed:
        """Return the failure of a webhook that gave no answer."""
        return ConversionFailed(CALL_FAILURE, f"{self._of} failed: {why}")

    def read(self, answer: Any) -> list[Raw]:
        """Return the converted objects of an answer. Raises ConversionFailed."""
        if problem := self._problem(answer):
            raise ConversionFailed(_MALFORMED, f"{self._of} failed: {problem}")
        converted = answer["response"].get("convertedObjects") or []
        if len(converted) != len(self._objects):
            raise ConversionFailed(
                _PARTIAL, f"{self._of} returned {len(converted)} objects, expected {len(self._objects)}"
            )
        pairs = zip(self._objects, converted, strict=True)
        return [self._checked(place, old, new) for place, (old, new) in enumerate(pairs)]

    def _problem(self, answer: Any) -> str:
        """Return what is wrong with an answer as a whole; v1beta1 is believed without its type and uid."""
        answer = answer if isinstance(answer, dict) else {}
        if self._version == "v1":
            expected = f"{_GROUP}/v1, Kind={_KIND}"
            given = f"{answer.get('apiVersion') or ''}, Kind={answer.get('kind') or ''}"
            if given != expected:
                return f"expected webhook response of {expected}, got {given}"
        response = answer.get("response")
        if not isinstance(response, dict):
            return "no response provided"
        uid = response.get("uid") or ""
        if self._version == "v1" and uid != self._uid:
            return f'expected response.uid="{self._uid}", got "{uid}"'
        result = response.get("result")
        result = result if isinstance(result, dict) else {}
        status = result.get("status") or ""
        if status != "Success":
            return str(result.get("message") or f"response.result.status was '{status}', not 'Success'")
        return ""

    def _checked(self, place: int, old: Raw, new: Any) -> Raw:
        """Return a converted object with the metadata of the old one. Raises ConversionFailed."""
        is_list = len(self._objects) > 1
        what = f"invalid converted object at index {place}" if is_list else "invalid object"
        at_index = what if is_list else f"{what} at index 0"
        if not isinstance(new, dict) or not new.get("kind"):
            raise self._invalid(f"{at_index}: Object 'Kind' is missing")
        if new.get("apiVersion") != self._wanted:
            received = new.get("apiVersion") or ""
            raise self._invalid(f"{at_index}: invalid groupVersion (expected {self._wanted}, received {received})")
        if new["kind"] != old.get("kind"):
            raise self._invalid(f"{at_index}: invalid kind (expected {old.get('kind')}, received {new['kind']})")
        before, after = old["metadata"], new.get("metadata")
        for field, words in _KEPT:
            was, is_now = before.get(field) or "", (after.get(field) or "") if isinstance(after, dict) else ""
            if was != is_now:
                raise self._invalid(f"{what}: must have the same {words}: {was} != {is_now}")
        try:
            return {**new, "metadata": _restored(before, after, is_there="metadata" in new)}
        except ValueError as error:
            where = f"invalid metadata in object at index {place}" if is_list else "invalid metadata"
            raise self._invalid(f"{where}: {error}") from None

    def _invalid(self, why: str) -> ConversionFailed:
        return ConversionFailed(_INVALID, f"{self._of} returned {why}")


def _restored(old: Raw, new: Any, *, is_there: bool) -> Raw:
    """Return the metadata that an object had, with the labels and annotations that it has now. Raises ValueError."""
    if not is_there:
        raise ValueError("missing metadata in converted object")
    if not isinstance(new, dict):
        raise ValueError(f"invalid metadata of type {_GO_TYPES[type(new)]} in converted object")
    restored = copy_document(old)
    for field in _CHANGEABLE:
        values = new.get(field)
        if values is None:
            restored.pop(field, None)
            continue
        if not isinstance(values, dict):
            raise ValueError(f"invalid metadata.{field} of type {_GO_TYPES[type(values)]} in converted object")
        for name, value in values.items():
            if not isinstance(value, str):
                go_type = _GO_TYPES[type(value)]
                raise ValueError(f"metadata.{field}[{name}] must be a string, but is {go_type} in converted object")
        if values != restored.get(field):
            _check(field, values)
        restored[field] = values
    return restored


def _check(field: str, values: Raw) -> None:
    validate = validate_labels if field == "labels" else validate_annotations
    errors = validate(values, "metadata.labels" if field == "labels" else "metadata.annotation")
    if errors:
        texts = list(dict.fromkeys(map(str, errors)))
        raise ValueError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
