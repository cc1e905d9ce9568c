"""Install Debian's Chromium on a machine that has no browser, and say loudly where that cannot be done.

Exit status 0 in any case: the other tests run without a browser, and those that need one say that they were skipped; in
CI they fail.
"""

import os
import shutil
import subprocess
import sys

_INSTALL = ("apt-get", "install", "--yes", "--no-install-recommends", "chromium")


def main() -> None:
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        _complain("this is not Debian, or you are not root")
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (("apt-get", "update"), _INSTALL):
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            _complain(f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
            return


def _complain(why: str) -> None:
    line = "=" * 100
    sys.stderr.write(
        f"{line}\nNo Chromium: the dashboard will not be tested in a browser ({why}).\n"
        f"Install a Chromium, or set CHROMIUM to the path of one.\n{line}\n"
    )


main()
