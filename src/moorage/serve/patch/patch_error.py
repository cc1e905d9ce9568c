"""Errors of patches and their answers, and the maximum depth of a document.

Kubernetes: apiserver's handlers/patch.go. Differs: upstream answers a bad strategic merge patch with 500, this is 422,
because the client is at fault; where upstream hides what was wrong with a JSON patch, the answer has it as a cause.
"""

from typing import Any

from moorage.model.api_error import ApiError, bad_request, failure, request_too_large
from moorage.model.text.json_text import json_type

BAD_REQUEST, TOO_LARGE, UNPROCESSABLE = 400, 413, 422
#: Deeper than any document of the API, and shallow enough for every recursion over it.
MAX_LEVELS = 200
_GENERIC = "the server rejected our request due to an error in our request"


class PatchError(Exception):
    """A patch is malformed or does not fit its document. `hidden` texts are not upstream's."""

    def __init__(self, message: str, code: int = UNPROCESSABLE, *, hidden: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hidden = hidden


def refusal(error: PatchError) -> ApiError:
    if error.code == BAD_REQUEST:
        return bad_request(error.message)
    if error.code == TOO_LARGE:
        return request_too_large(error.message)
    if error.hidden:
        cause = {"message": error.message, "field": "patch"}
        return failure(error.code, "Invalid", _GENERIC, {"causes": [cause]})
    return failure(error.code, "Invalid", error.message)


def check_depth(document: Any) -> None:
    """Raise PatchError if the document has too many levels."""
    level = [document]
    for _ in range(MAX_LEVELS):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner += [item for item in value.values() if isinstance(item, dict | list)]
            elif isinstance(value, list):
                inner += [item for item in value if isinstance(item, dict | list)]
        if not inner:
            return
        level = inner
    raise too_deep()


def too_deep() -> PatchError:
    return PatchError("the document would be nested too deeply", UNPROCESSABLE, hidden=True)


def not_decoded(value: Any, what: str = "value of type map[string]interface {}") -> str:
    """The text of Go's decoder about a value of another type than expected."""
    return f"json: cannot unmarshal {json_type(value)} into Go {what}"
