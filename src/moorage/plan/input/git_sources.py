"""Read manifests of a git revision, as `main:deploy/`, without checking it out.

Two processes are run: one resolves the revision and the path, the other streams the files. They see no user's pager,
ask no questions and have a deadline. Kubernetes: none; git: gitrevisions(7), `<rev>:<path>`.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from moorage.lint.sources import EXTENSIONS, Source

#: A revision with more or larger manifests than this is refused.
MAX_FILES, MAX_BYTES = 20_000, 512 * 1024 * 1024
_SECONDS = 60
_FILE_MODES = ("100644", "100755")
_TREE, _BLOB = "tree", "blob"


class GitError(Exception):
    """Why a revision cannot be read: one line for the user."""


def is_revision(text: str) -> bool:
    """Return whether a text names a path in a git revision: `REV:PATH`, and no file or directory of that name."""
    revision, colon, _ = text.partition(":")
    return bool(colon and revision) and not Path(text).exists()


def git_sources(text: str, *, allows_absent: bool = False) -> list[Source]:
    """Return the manifests of `REV:PATH` with their contents, in the order of their names. Raises GitError.

    A path is that from the root of the repository, as for git, or from here if it begins with `./`. With
    `allows_absent`, a path that the revision does not have holds no manifests.
    """
    revision, _, path = text.partition(":")
    if revision.startswith("-"):
        raise GitError(f"{text!r}: {revision!r} is not a git revision")
    commit = _run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{tree}}", about=text)
    if commit is None:
        raise GitError(f"{text!r}: there is no git revision {revision!r} in {Path.cwd()}")
    path = path.rstrip("/") if path.strip("/") else ""
    found = _run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}:{path}", about=text)
    if found is None:
        if allows_absent:
            return []
        raise GitError(f"{text!r}: revision {revision!r} has no {path!r}; paths are those from the repository's root")
    identity = found.decode().strip()
    kind = (_run("cat-file", "-t", identity, about=text) or b"").decode().strip()
    if kind == _BLOB:
        names, identities = [text], [identity]
    elif kind == _TREE:
        prefix = f"{revision}:{path}/" if path else f"{revision}:"
        names, identities = _manifests(identity, prefix, text)
    else:
        raise GitError(f"{text!r} is a {kind or 'thing'}, and neither a file nor a directory")
    contents = _contents(identities, text)
    return [
        Source(name, name, explicit=kind == _BLOB, content=content)
        for name, content in zip(names, contents, strict=True)
    ]


def _manifests(tree: str, prefix: str, about: str) -> tuple[list[str], list[str]]:
    """List the manifests below a tree: hidden files, links and submodules are left out, as in directories."""
    listing = _run("ls-tree", "-r", "-z", "--full-tree", tree, about=about) or b""
    found: dict[str, str] = {}
    for entry in listing.split(b"\0"):
        facts, _, raw = entry.partition(b"\t")
        name = raw.decode("utf-8", "surrogateescape")
        mode, _, rest = facts.decode().partition(" ")
        is_hidden = any(part.startswith(".") for part in name.split("/"))
        if mode in _FILE_MODES and name.lower().endswith(EXTENSIONS) and not is_hidden:
            found[f"{prefix}{name}"] = rest.partition(" ")[2]
    if len(found) > MAX_FILES:
        raise GitError(f"{about!r} has {len(found):,} manifests, more than {MAX_FILES:,}")
    names = sorted(found, key=lambda name: name.split("/"))
    return names, [found[name] for name in names]


def _contents(identities: Sequence[str], about: str) -> list[bytes]:
    """Return the contents of files by their identities. Raises GitError."""
    if not identities:
        return []
    asked = "".join(f"{identity}\n" for identity in identities).encode()
    sizes = _git("cat-file", "--batch-check", about=about, asked=asked).stdout.decode()
    total = sum(int(line.split()[2]) for line in sizes.splitlines() if line.split()[2:])
    if total > MAX_BYTES:
        raise GitError(f"{about!r} has {total:,} bytes of manifests, more than {MAX_BYTES:,}")
    done = _git("cat-file", "--batch", about=about, asked=asked)
    contents = list(_parts(done.stdout))
    if len(contents) != len(identities):
        raise GitError(f"{about!r}: git cannot read all files: {_first_line(done.stderr) or 'its answer is too short'}")
    return contents


def _parts(answer: bytes) -> Iterator[bytes]:
    position = 0
    while (end := answer.find(b"\n", position)) >= 0:
        head = answer[position:end].split()
        if len(head) != 3:
            return
        size = int(head[2])
        yield answer[end + 1 : end + 1 + size]
        position = end + 1 + size + 1


def _run(*arguments: str, about: str) -> bytes | None:
    """Return what a git command prints; None if it fails without a word, as with --quiet. Raises GitError."""
    done = _git(*arguments, about=about)
    if done.returncode:
        if complaint := _first_line(done.stderr):
            raise GitError(f"{about!r}: {complaint}")
        return None
    return done.stdout


def _git(*arguments: str, about: str, asked: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    environment = {**os.environ, **quiet}
    try:
        return subprocess.run(
            ["git", *arguments], input=asked, capture_output=True, timeout=_SECONDS, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        raise GitError(f"{about!r}: git has not answered within {_SECONDS} s") from None
    except OSError as error:
        why = "git is not installed" if isinstance(error, FileNotFoundError) else f"git does not start: {error}"
        raise GitError(f"{about!r} is no file, and to be a git revision it needs git: {why}") from None


def _first_line(errors: bytes) -> str:
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return lines[0].removeprefix("fatal: ").removeprefix("error: ") if lines else ""
