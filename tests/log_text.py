"""The messages that a test has captured, as klog would have written them."""

import pytest

from moorage.telemetry.logs import KlogFormatter


def log_text(caplog: pytest.LogCaptureFixture) -> str:
    return "".join(KlogFormatter().format(record) for record in caplog.records)
