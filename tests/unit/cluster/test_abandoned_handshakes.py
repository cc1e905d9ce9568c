"""A TLS handshake that was given up is not reported as a traceback; anything else is."""

import asyncio
import ssl
from typing import Any

import pytest

from moorage.cluster.event_loop import run_until_signal


class _Component:
    """Fails with what a future was told and no task asked for."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self.watchdog: Any = None

    async def start(self) -> None:
        asyncio.get_running_loop().call_exception_handler(
            {"message": "Future exception was never retrieved", "exception": self._error}
        )
        raise InterruptedError

    async def stop(self) -> None:
        """Nothing runs."""

    async def failed(self) -> BaseException:
        return self._error


@pytest.mark.parametrize(
    ("error", "is_logged"), [(ssl.SSLError(1, "verify failed"), False), (ValueError("a mistake"), True)]
)
def test_only_other_errors_are_logged(error: Exception, is_logged: bool, caplog: pytest.LogCaptureFixture) -> None:
    component: Any = _Component(error)
    with pytest.raises(InterruptedError):
        run_until_signal(lambda: component)
    assert ("never retrieved" in caplog.text) is is_logged
