"""What can go wrong while a workload runs against a server."""

from __future__ import annotations


class RunFailed(Exception):
    """The run cannot go on: the server refused something, was not there any more, or never came. The text says what."""
