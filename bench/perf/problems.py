"""What can be wrong with a workload: it says something impossible, or it needs what Moorage does not have."""

from __future__ import annotations


class ConfigError(Exception):
    """A file that is not in scheduler_perf's format, with the place and the reason."""


class NotSupported(Exception):
    """A workload that needs something which Moorage does not have; the text names it."""

    def __init__(self, what: str) -> None:
        super().__init__(f"not supported: {what}")
