"""Write files into a directory that is new or empty, all of them or none.

Kubernetes: `helm create`, which overwrites. Differs: what is there is never changed.
"""

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path


class NotEmpty(Exception):
    """The path is not an empty directory."""


def write_new_directory(path: Path, files: Mapping[str, str]) -> None:
    """Write files by their paths. Raises NotEmpty, OSError; then there is no trace of them."""
    path = path.resolve()
    if path.is_dir():
        if any(path.iterdir()):
            raise NotEmpty(f"{path} is not empty; it is left as it is: name a new or empty directory")
    elif path.exists():
        raise NotEmpty(f"{path} is not a directory; it is left as it is: name a new or empty directory")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        for name, content in files.items():
            file = unfinished / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        os.rename(unfinished, path)  # noqa: PTH104 - replaces an empty directory, and no other
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
