"""Put a real kubectl where the tests find it, on a machine that has none: `python3 install_kubectl.py FILE`.

In: the path of the program to make. Out: that file, executable, taken out of Debian's package of kubectl; or an exit
status of 1 and a line that says what to do. Needs nothing but Python's standard library, and no root. Every package is
pinned by its hash, so a mirror can refuse but not deceive.
"""

import hashlib
import io
import itertools
import os
import platform
import re
import sys
import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: Where the machine's own package manager says that Debian's packages are.
SOURCES = (Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*")))
_MIRROR = re.compile(r"https?://\S+/debian/?(?=\s|$)", re.MULTILINE)
TIMEOUT_SECONDS = 120
_MEMBER_HEADER = 60  # bytes before each member of an ar archive, after the archive's first line
_ARCHIVE = b"!<arch>\n"
_PROGRAM = "./usr/bin/kubectl"


class Package(NamedTuple):
    """A version of the package, and what each architecture's file must hash to (SHA-256)."""

    version: str
    hashes: dict[str, str]


#: Newest first. A version leaves the archive when Debian has a newer one; the last is that of a release, which stays.
PACKAGES = (
    Package(
        "1.36.4+ds-1",
        {
            "amd64": "407dad9ec755a64ef8c96dd2f5c0c093f9d334193c91cc0ce8424928cd5734d3",
            "arm64": "5710b3f09f454702b7342852021612d0215bbcaa2520cb539ff0105b1e349e2c",
        },
    ),
    Package(
        "1.32.3+ds-2",
        {
            "amd64": "9825aaf4c14913027aae04af8688e580459f781c829bd5de00cc4dc2cc5a867f",
            "arm64": "b85800b5e2d2ecc958e2b9dfa7d4ce13b14e1175242de1f71acb4fa4b0b63212",
        },
    ),
)


def architecture() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def mirrors() -> list[str]:
    """The archives to ask: the one in $DEBIAN_MIRROR, or those that this machine installs packages from."""
    if named := os.environ.get("DEBIAN_MIRROR"):
        return [named.rstrip("/")]
    found = [url.rstrip("/") for file in SOURCES if file.is_file() for url in _MIRROR.findall(file.read_text())]
    if not found:
        raise OSError("this machine installs nothing from Debian, and $DEBIAN_MIRROR is not set")
    return list(dict.fromkeys(found))


def download(package: Package, mirror: str) -> bytes:
    """The package's bytes; raises OSError if there is no such file, or a wrong one."""
    machine = architecture()
    wanted = package.hashes.get(machine)
    if wanted is None:
        raise OSError(f"no package for {machine}")
    url = f"{mirror}/pool/main/k/kubernetes/kubectl_{package.version}_{machine}.deb"
    with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer:
        data: bytes = answer.read()
    found = hashlib.sha256(data).hexdigest()
    if found != wanted:
        raise OSError(f"{url} hashes to {found}, not to {wanted}")
    return data


def members(archive: bytes) -> Iterator[tuple[str, bytes]]:
    """Names and contents of an ar archive, which is what a Debian package is."""
    if not archive.startswith(_ARCHIVE):
        raise OSError("not a Debian package")
    position = len(_ARCHIVE)
    while position + _MEMBER_HEADER <= len(archive):
        header = archive[position : position + _MEMBER_HEADER]
        name, size = header[:16].decode().strip().rstrip("/"), int(header[48:58])
        position += _MEMBER_HEADER
        yield name, archive[position : position + size]
        position += size + size % 2


def program_in(package: bytes) -> bytes:
    for name, content in members(package):
        if name.startswith("data.tar"):
            with tarfile.open(fileobj=io.BytesIO(content)) as files:
                file = files.extractfile(_PROGRAM)
                if file is not None:
                    return file.read()
    raise OSError(f"the package has no {_PROGRAM}")


def install(path: Path) -> list[str]:
    """Make the file. Returns why nothing could be installed; empty if something was."""
    complaints: list[str] = []
    try:
        archives = mirrors()
    except OSError as error:
        return [str(error)]
    for package, mirror in itertools.product(PACKAGES, archives):
        try:
            program = program_in(download(package, mirror))
        except (OSError, tarfile.TarError, KeyError, ValueError) as error:
            complaints.append(f"kubectl {package.version}: {error}")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.{os.getpid()}")
        unfinished.write_bytes(program)
        unfinished.chmod(0o755)
        unfinished.replace(path)
        return []
    return complaints


if __name__ == "__main__":
    if failures := install(Path(sys.argv[1])):
        print(*failures, sep="\n", file=sys.stderr)
        print("The end-to-end tests need kubectl: install one, or set KUBECTL to one.", file=sys.stderr)
        sys.exit(1)
