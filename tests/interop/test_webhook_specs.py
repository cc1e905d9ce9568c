"""Kubernetes' own Conformance specs of admission and conversion webhooks pass on `moorage up`.

What their containers would run, runs beside the cluster.
"""

from tests.interop.binaries import AGNHOST, E2E_TEST, KUBECTL, needs
from tests.interop.cluster_user import ClusterUser
from tests.interop.clusters import start_moorage
from tests.interop.conformance_specs import left_out, results_in, start_specs
from tests.interop.programs import Programs
from tests.interop.webhook_containers import WebhookContainers

pytestmark = needs(E2E_TEST, AGNHOST, KUBECTL)

_GROUPS = ("[sig-api-machinery] AdmissionWebhook ", "[sig-api-machinery] CustomResourceConversionWebhook ")


def test_webhooks_pass_whose_containers_run_beside_the_cluster(programs: Programs) -> None:
    specs = [spec for spec in left_out() if spec.startswith(_GROUPS)]
    kubeconfig = start_moorage(programs)
    user = ClusterUser(kubeconfig, programs.directory / "home")
    running = start_specs(programs.directory / "specs", kubeconfig, specs)
    WebhookContainers(programs, user).run_beside(running)
    results = results_in(programs.directory / "specs")
    assert [f"{result.spec}: {result.why[:500]}" for result in results if not result.has_passed] == []
    assert sorted(result.spec for result in results) == sorted(specs)
