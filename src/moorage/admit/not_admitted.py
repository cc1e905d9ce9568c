"""Raise what admission refuses as the answer of the API server, with the fields that it is about."""

from moorage.admit.admission import Rejected
from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError
from moorage.model.kinds import Kind
from moorage.model.schema.conversion import ConversionError, convert_view


class NotAdmitted(ApiError):
    """Admission refuses an object. `result` says for which fields."""

    def __init__(self, result: Rejected) -> None:
        super().__init__(result.status)
        self.result = result
        self.warned(result.told)


def check_types(raw: Raw, kind: Kind) -> None:
    """Raise NotAdmitted, a 400, with the first field that is not of its kind's type: defaulting relies on the types.

    It comes before any complaint of unknown fields.
    """
    try:
        convert_view(raw, kind.view)
    except ConversionError as error:
        metadata = raw.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else ""
        raise NotAdmitted(Rejected(kind, str(name or ""), problems=error.problems)) from None
