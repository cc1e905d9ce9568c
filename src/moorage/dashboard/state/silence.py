"""Say why a live cluster does not answer, and which command tells more: one line for the page."""

import shlex
from typing import NamedTuple

from moorage.client.kubeconfig.access import Access
from moorage.client.protocol import Unreachable
from moorage.model.api_error import ApiError

_UNAUTHORIZED = 401
_FORBIDDEN = 403
#: The contexts that `moorage up` and `moorage kubeconfig` write.
_OWN_CONTEXT = "moorage"


class Silence(NamedTuple):
    """What is wrong in one line, empty if nothing is, and a command that looks into it."""

    problem: str = ""
    command: str = ""


def silence_of(
    error: ApiError | Unreachable | TimeoutError, access: Access, kubeconfig: str, seconds: float
) -> Silence:
    """Return what to say of a request that failed or had no answer after `seconds`."""
    server, kubectl = access.server, _kubectl(access, kubeconfig)
    if isinstance(error, ApiError):
        if error.code == _UNAUTHORIZED:
            text = f"{server} does not accept the kubeconfig's credentials any more: {_sentence(error.message)}"
            return Silence(f"{text} Log in again; the page goes on by itself. To check:", f"{kubectl} auth whoami")
        text = f"{server} does not let pods be listed any more: {_sentence(error.message)}"
        if error.code == _FORBIDDEN:
            return Silence(f"{text} To check:", f"{kubectl} auth can-i list pods --all-namespaces")
        return Silence(f"{text} To check:", f"{kubectl} get pods --all-namespaces")
    if isinstance(error, TimeoutError):
        text = f"{server} gave no answer within {seconds:.0f} s."
    else:
        text = f"{server} cannot be reached: {_sentence(str(error).removeprefix(f'{server}: '))}"
    is_own = access.context == _OWN_CONTEXT or access.context.startswith(f"{_OWN_CONTEXT}-")
    command = "moorage list" if is_own else f"{kubectl} get --raw /readyz"
    return Silence(f"{text} The page shows what it knew and goes on by itself. To check whether it runs:", command)


def _kubectl(access: Access, kubeconfig: str) -> str:
    options = ["--kubeconfig", kubeconfig] if kubeconfig else []
    options += ["--context", access.context] if access.context else []
    return shlex.join(["kubectl", *options])


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
