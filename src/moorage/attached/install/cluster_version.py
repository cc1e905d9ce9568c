"""Learn which minor version of Kubernetes a cluster has, from a text or from its API server.

Kubernetes: /version. Differs: a provider's suffix, such as `30+`, is left out; newer versions than are known are taken.
"""

import json
from typing import Final

from moorage.attached.install.settings import OLDEST_MINOR
from moorage.client.http_client import HttpClient

_PATH: Final = "/version"


class UnknownVersion(Exception):
    """The version cannot be read, or is too old for attach."""


async def read_minor(client: HttpClient) -> int:
    """Ask an API server. Raises UnknownVersion, ApiError, Unreachable."""
    minor, _ = await read_version(client)
    return minor


async def read_version(client: HttpClient) -> tuple[int, str]:
    """Return the minor version, and all that an API server says of it. Raises UnknownVersion, ApiError, Unreachable."""
    try:
        told = json.loads(await client.get_path(_PATH))
        short = f"{told['major']}.{told['minor']}"
        return minor_of(short), str(told.get("gitVersion") or short)
    except (ValueError, KeyError, TypeError):
        raise UnknownVersion(f"the API server does not tell its version at {_PATH}") from None


def minor_of(text: str) -> int:
    """Return 36 for `1.36`, `v1.36.4` and `1.36+`. Raises UnknownVersion."""
    major, _, rest = text.strip().removeprefix("v").partition(".")
    digits = rest.partition(".")[0].partition("-")[0].rstrip("+")
    if major != "1" or not (digits.isascii() and digits.isdigit() and len(digits) < 4):
        raise UnknownVersion(f"{text!r} is not a version of Kubernetes such as 1.36")
    if int(digits) < OLDEST_MINOR:
        raise UnknownVersion(
            f"Kubernetes 1.{digits} is too old: attach needs 1.{OLDEST_MINOR}, which has match conditions of webhooks"
        )
    return int(digits)
