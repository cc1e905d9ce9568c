"""Vectors that Moorage does not meet on purpose, by name (as run.py prints it), each with its reason.

A reason quotes the document that asks for something else. An exception whose case passes is itself a failure, so that
this table cannot go stale.
"""

KNOWN_EXCEPTIONS: dict[str, str] = {}
