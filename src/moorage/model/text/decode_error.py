"""Define the error of a stream that cannot be read as API objects, with file, line, column and reason."""

from enum import Enum


class Problem(Enum):
    """What kind of thing is wrong, for callers that treat, say, a YAML file of another program leniently."""

    UNREADABLE = "unreadable"  # not text, or not the text Kubernetes reads
    BINARY = "binary"  # an image, an archive or a program, whatever its name ends with
    SYNTAX = "syntax"
    LIMIT = "limit"  # too large, too deep, or too many aliases
    NOT_AN_OBJECT = "not-an-object"  # a list or a scalar where an API object should be
    NOT_AN_ITEM = "not-an-item"  # the same inside of a List, which is meant to hold API objects
    NO_KIND = "no-kind"  # neither an apiVersion nor a kind: hardly meant to be an API object
    MISSING_KIND = "missing-kind"
    MISSING_API_VERSION = "missing-api-version"
    TYPE = "type"  # a field has a value of another type than the API's


class DecodeError(Exception):
    """A document, or a part of it, that cannot be read. Lines and columns count from one."""

    def __init__(
        self, reason: str, *, problem: Problem, source: str = "", line: int = 1, column: int = 1, path: str = ""
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.problem = problem
        self.source = source
        self.line = line
        self.column = column
        self.path = path

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}: {self.reason}"
