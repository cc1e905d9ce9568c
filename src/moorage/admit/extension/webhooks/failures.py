"""Define how the call of a webhook fails: it was not reached or understood, or it denies the request.

All else, an ApiError, is an error of the API server itself, whatever the webhook's failurePolicy.
Kubernetes: ErrCallingWebhook, ErrWebhookRejection, plugin/webhook/errors.
"""

from moorage.admit.extension.attributes import Attributes
from moorage.model.api_error import ApiError, failure
from moorage.model.types.extension.admission_policies import MutatingWebhook, ValidatingWebhook


class CallFailed(Exception):
    """A webhook was not reached or not understood: `failurePolicy` decides. `reason` follows the webhook's name."""

    def __init__(self, reason: str, code: int = 503) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code


class Denied(Exception):
    """A webhook denies the request; `error` is the answer to it."""

    def __init__(self, error: ApiError) -> None:
        super().__init__(error.message)
        self.error = error


def failed_calling(webhook: str, failed: CallFailed) -> ApiError:
    """Return the refusal of a request because a webhook was not reached that must be."""
    return internal_error(f'failed calling webhook "{webhook}": {failed.reason}')


def forbidden(attributes: Attributes, why: str) -> ApiError:
    """Return the refusal of a request for which it cannot be told whether a webhook is to be called."""
    group, _, plural = attributes.resource
    resource = f"{plural}.{group}" if group else plural
    whom = f'{resource} "{attributes.name}"' if attributes.name else resource
    details = {"name": attributes.name, "group": group, "kind": plural}
    return failure(403, "Forbidden", f"{whom} is forbidden: {why}", details)


def internal_error(why: str) -> ApiError:
    """Return a 500 that has its reason as a cause, too."""
    return failure(500, "InternalError", f"{_INTERNAL}{why}", {"causes": [{"message": why}]})


def with_cause(error: ApiError) -> ApiError:
    """Return an error of the world as an internal one."""
    return internal_error(error.message.removeprefix(_INTERNAL))


def unconverted(error: ApiError, webhook: MutatingWebhook | ValidatingWebhook) -> ApiError:
    """Return the refusal of a request whose objects are not in the version of a webhook. Kubernetes repeats itself."""
    reason = error.message.removeprefix(_INTERNAL)
    return internal_error(f"{_INTERNAL}{reason}" if isinstance(webhook, MutatingWebhook) else reason)


_INTERNAL = "Internal error occurred: "
