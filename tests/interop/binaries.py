"""The real Kubernetes programs that these tests run, by the environment variables that name them.

The names of the first three are those of envtest. A test says which programs it needs; where one is not named, the test
is skipped and the end of the run says so.
"""

import os
from pathlib import Path

import pytest

ETCD = "TEST_ASSET_ETCD"
API_SERVER = "TEST_ASSET_KUBE_APISERVER"
KUBECTL = "TEST_ASSET_KUBECTL"
SCHEDULER = "TEST_ASSET_KUBE_SCHEDULER"
CONTROLLER_MANAGER = "TEST_ASSET_KUBE_CONTROLLER_MANAGER"
E2E_TEST = "TEST_ASSET_E2E_TEST"
AGNHOST = "TEST_ASSET_AGNHOST"
ALL = (ETCD, API_SERVER, KUBECTL, SCHEDULER, CONTROLLER_MANAGER)


def program(variable: str) -> str:
    """Return the path of a program. Fails if the variable names nothing that can be run."""
    path = Path(os.environ[variable])
    assert os.access(path, os.X_OK), f"{variable}={path} is not a program"
    return str(path)


def needs(*variables: str) -> pytest.MarkDecorator:
    """Skip what is marked where one of the variables is not set."""
    missing = [variable for variable in variables if not os.environ.get(variable)]
    return pytest.mark.skipif(bool(missing), reason=f"interop: set {', '.join(missing)} to run it")
