"""A real kube-apiserver accepts everything that `attach install` prints, in every form, and obeys what is added."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
import yaml
from tests.e2e.component_processes import until
from tests.interop.attached.unaware_cluster import Raw, listed
from tests.interop.binaries import API_SERVER, ETCD, KUBECTL, needs
from tests.interop.cluster_user import ClusterUser
from tests.interop.programs import programs_in
from tests.interop.real_server import RealServer
from tests.unit.attached.install.test_manifests import ADDITIONS, INSTALLATIONS
from tests.unit.attached.status.live import snapshot_of
from tests.unit.attached.status.test_status import USUAL

from moorage.attach.formats import MIRRORED, VERSION
from moorage.attach.policies.additions import Addition, addition_policy
from moorage.attach.policies.mirror import mirror_policy
from moorage.attached.install.parts import manifests
from moorage.attached.install.settings import POLICY_MINOR
from moorage.attached.status.nodes import check_nodes
from moorage.model.kinds import kind_of

pytestmark = [pytest.mark.real_time, needs(ETCD, API_SERVER, KUBECTL)]


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterUser]:
    with programs_in(tmp_path_factory.mktemp("manifests")) as programs:
        server = RealServer(programs)
        yield ClusterUser(server.kubeconfig, programs.directory / "home", "")


@pytest.mark.parametrize("name", INSTALLATIONS)
def test_a_real_api_server_accepts_every_form(admin: ClusterUser, name: str) -> None:
    installation = INSTALLATIONS[name]._replace(additions=ADDITIONS)
    documents = [each for each in manifests(installation) if kind_of(each) is not None]
    done = admin("apply -f -", listed(documents))
    assert done.err == ""
    again = admin("apply --server-side --force-conflicts -f -", listed(documents))
    assert again.err == ""
    assert len(again.lines) == len(documents)
    assert wrong_sections(admin, installation.namespace, installation.minor) <= UNABLE
    admin("delete -f - --wait=false", listed([each for each in documents if each["kind"] != "Namespace"]))


#: Nothing runs here, and no controller makes certificates. The server is of 1.36, which expects the mirror as a policy.
UNABLE = {"webhook", "controller", "certificates"}


def wrong_sections(admin: ClusterUser, namespace: str, minor: int) -> set[str]:
    """Return what `attach status` finds wrong: not what was just applied, with the defaults of a real API server."""
    told = moorage_status(admin, namespace)
    parts = {each["name"]: each for each in told["sections"]}
    expected = {"mirror"} if minor < POLICY_MINOR else set()
    return {name for name, each in parts.items() if each["level"] == "wrong"} - expected


def moorage_status(admin: ClusterUser, namespace: str) -> Raw:
    command = [sys.executable, "-m", "moorage", "attach", "status", "-o", "json", "--namespace", namespace]
    ran = subprocess.run([*command, "--kubeconfig", str(admin.kubeconfig)], capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1), ran.stderr
    found: Raw = json.loads(ran.stdout)
    return found


def test_what_is_added_for_everyone_is_added(admin: ClusterUser) -> None:
    team = {"matchLabels": {"team": "shop"}}
    spot = {"key": "spot", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}
    added = Addition("rollouts", team, match_label_keys=["pod-template-hash"], tolerations=[spot])
    admin("apply -f -", listed(addition_policy(added)))
    for name, labels in (("shop", {"team": "shop"}), ("other", {})):
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        # No controller makes the account that pods have.
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}}
        admin("apply -f -", listed([document, account]))

    def stored(namespace: str) -> Raw:
        ran = admin.run(f"create -n {namespace} --dry-run=server -o json -f -", yaml.safe_dump(POD))
        found: Raw = json.loads(ran.out) if ran.status == 0 else {}
        return found

    def has(found: Raw) -> bool:
        spec = found.get("spec", {})
        return spot in spec.get("tolerations", []) and "matchLabelKeys" in json.dumps(spec)

    until(lambda: has(stored("shop")))
    (constraint,) = stored("shop")["spec"]["topologySpreadConstraints"]
    assert constraint["matchLabelKeys"] == ["pod-template-hash"]
    until(lambda: stored("other") != {})
    assert not has(stored("other"))


POD: Raw = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"app": "web", "pod-template-hash": "7bdccb9b6c"}},
    "spec": {
        "automountServiceAccountToken": False,
        "containers": [{"name": "c", "image": "i:1"}],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ],
    },
}


def test_the_command_that_mends_nodes_mends_them(admin: ClusterUser) -> None:
    """It writes a label that may be there already; the mirror comes with that write all the same."""
    node: Raw = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "unmirrored", "labels": {MIRRORED: VERSION}},
        "spec": {"taints": [{"key": "spot", "value": "960", "effect": "NoSchedule"}]},
    }
    admin("apply -f -", listed([node]))
    admin("apply -f -", listed(mirror_policy()))
    wanted = {"num.noschedule.taint.moorage.dev/spot": "960"}

    def is_mended() -> bool:
        (row,) = check_nodes(snapshot_of([admin.get("node unmirrored")], USUAL)).details["nodes"]
        for item in check_nodes(snapshot_of([admin.get("node unmirrored")], USUAL)).items:
            if item.mend:
                admin(item.mend.removeprefix("kubectl "))
        return not row["missing"]

    until(is_mended)
    assert wanted.items() <= admin.get("node unmirrored")["metadata"]["labels"].items()
