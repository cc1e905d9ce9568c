"""Kubernetes' own Conformance specs pass on `moorage up`, but for those that need a container that runs."""

from tests.interop.binaries import E2E_TEST, KUBECTL, needs
from tests.interop.clusters import start_moorage
from tests.interop.conformance_specs import Result, all_specs, left_out, results_in, start_specs
from tests.interop.programs import Programs

pytestmark = needs(E2E_TEST, KUBECTL)

#: It needs an admission plugin that is not on by default.
_WITH_TOKENS = "[sig-auth] ServiceAccounts should allow opting out of API token automount [Conformance]"
#: Clusters, each with a part of the specs: many of them wait for minutes.
_CLUSTERS = 6


def test_all_but_those_that_need_containers_pass(programs: Programs) -> None:
    known, kept = all_specs(programs.directory), left_out()
    assert sorted(kept.keys() - set(known)) == [], "the program has no such specs"
    specs = [spec for spec in known if spec not in kept and spec != _WITH_TOKENS]
    results = _run_in_parts(programs, specs)
    failed = [f"{spec}: {state}: {why[:500]}" for spec, state, why in results if state != "passed"]
    counts = f"{len(specs) - len(failed)} of {len(specs)} specs passed, {len(kept)} of {len(known)} were left out"
    assert sorted(result.spec for result in results) == specs, counts
    assert not failed, "\n".join([counts, *failed])


def test_pods_get_tokens_where_the_plugin_is_enabled(programs: Programs) -> None:
    kubeconfig = start_moorage(programs, "--enable-admission-plugins=ServiceAccount")
    folder = programs.directory / "specs"
    start_specs(folder, kubeconfig, [_WITH_TOKENS]).wait()
    assert results_in(folder) == [Result(_WITH_TOKENS, "passed", "")]


def _run_in_parts(programs: Programs, specs: list[str]) -> list[Result]:
    running = []
    for number in range(_CLUSTERS):
        folder = programs.directory / f"cluster-{number}"
        folder.mkdir()
        kubeconfig = start_moorage(programs, name=folder.name)
        running.append((folder / "specs", start_specs(folder / "specs", kubeconfig, specs[number::_CLUSTERS])))
    for _, process in running:
        process.wait()
    return [result for folder, _ in running for result in results_in(folder)]
