"""Labels that a pod brings to its own affinity: the stories of KEP-3633. The gate is on by default."""

from tests.e2e.stories.stage import Raw, Stage, documents_of, node, pod, pod_of_template

TERM = "requiredDuringSchedulingIgnoredDuringExecution"


def revision(number: int, name: str) -> Raw:
    """A pod of a Deployment's revision: the Deployment controller would give it this hash."""
    [deployment] = documents_of("rolling-update-with-match-label-keys", "application-server.yaml")
    return pod_of_template(deployment["spec"]["template"], name, **{"pod-template-hash": f"hash-{number}"})


def test_a_rolling_update_looks_at_one_revision(stage: Stage) -> None:
    stage.nodes("rolling-update-with-match-label-keys")
    stage.create(revision(1, "old-1"), revision(1, "old-2"))
    old = stage.lands("old-1", "old-2")
    stage.create(revision(2, "new-1"), revision(2, "new-2"))
    new = stage.lands("new-1", "new-2")
    for landed in (old, new):
        assert len(set(landed)) == 2, "never two replicas of a revision on one node"
        assert len({name.rsplit("-", 2)[0] for name in landed}) == 1, "all replicas of a revision in one zone"
    # The merged selector is there for all to see, and the lists of keys are as they were.
    assert stage.object("pod new-1")["spec"]["affinity"] == {
        "podAffinity": {
            TERM: [
                {
                    "labelSelector": {
                        "matchExpressions": [
                            {"key": "app", "operator": "In", "values": ["application-server"]},
                            {"key": "pod-template-hash", "operator": "In", "values": ["hash-2"]},
                        ]
                    },
                    "matchLabelKeys": ["pod-template-hash"],
                    "topologyKey": "topology.kubernetes.io/zone",
                }
            ]
        },
        "podAntiAffinity": {
            TERM: [
                {
                    "labelSelector": {
                        "matchLabels": {"app": "application-server"},
                        "matchExpressions": [{"key": "pod-template-hash", "operator": "In", "values": ["hash-2"]}],
                    },
                    "matchLabelKeys": ["pod-template-hash"],
                    "topologyKey": "kubernetes.io/hostname",
                }
            ]
        },
    }
    path = f"{{.spec.affinity.podAffinity.{TERM}[*].labelSelector.matchExpressions[*].values[*]}}"
    assert stage.read("pod old-1", path) == "application-server hash-1"


def test_without_label_keys_the_old_revision_is_in_the_way(stage: Stage) -> None:
    stage.create(*[node(f"zone-1-node-{number}") for number in (1, 2)])
    stage.kubectl("label nodes --all topology.kubernetes.io/zone=zone-1")
    stage.create(revision(1, "old-1"), revision(1, "old-2"))
    stage.lands("old-1", "old-2")
    keyless = revision(2, "keyless")
    for terms in keyless["spec"]["affinity"].values():
        del terms[TERM][0]["matchLabelKeys"]
    stage.create(keyless, revision(2, "keyed"))
    assert len(stage.lands("keyed")) == 1
    assert stage.why_pending("keyless") == (
        "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. "
        "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
    )


def test_every_tenant_has_a_node_pool_of_its_own(stage: Stage) -> None:
    stage.nodes("exclusive-tenants")
    made = []
    documents = documents_of("exclusive-tenants", "tenants.yaml")
    for tenant in ("red", "blue"):
        [template] = [
            found["spec"]["template"]
            for found in documents
            if found["kind"] == "Deployment" and found["metadata"]["namespace"] == tenant
        ]
        made += [pod_of_template(template, f"{tenant}-{number}") for number in range(3)]
    stage.create(*made)
    landed = stage.lands(*[found["metadata"]["name"] for found in made])
    pools = [name[: len("pool-1")] for name in landed]
    assert len(set(pools[:3])) == len(set(pools[3:])) == 1
    assert set(pools) == {"pool-1", "pool-2"}
    stage.create(pod_of_template({**template, "metadata": {"labels": {"tenant": "green"}}}, "green"))
    assert stage.why_pending("green") == (
        "0/4 nodes are available: 4 node(s) didn't match pod anti-affinity rules. "
        "preemption: 0/4 nodes are available: 4 No preemption victims found for incoming pod."
    )


def test_the_sample_pod(stage: Stage) -> None:
    """As the document prints it, with the difference that it prints."""
    term = {
        "mismatchLabelKeys": ["tenant"],
        "labelSelector": {"matchExpressions": [{"key": "tenant", "operator": "Exists"}]},
        "topologyKey": "node-pool",
    }
    stage.create(node("one"))
    stage.create(pod("sample", labels={"tenant": "tenant-a"}, affinity={"podAntiAffinity": {TERM: [term]}}))
    [stored] = stage.object("pod sample")["spec"]["affinity"]["podAntiAffinity"][TERM]
    assert stored == {
        "mismatchLabelKeys": ["tenant"],
        "labelSelector": {
            "matchExpressions": [
                {"key": "tenant", "operator": "Exists"},
                {"key": "tenant", "operator": "NotIn", "values": ["tenant-a"]},
            ]
        },
        "topologyKey": "node-pool",
    }
    # Never merged again, whatever becomes of the labels; the same pod applied once more changes nothing.
    stage.kubectl("label pod sample tenant=tenant-b --overwrite")
    assert stage.object("pod sample")["spec"]["affinity"]["podAntiAffinity"][TERM] == [stored]


def test_keys_that_the_pod_has_no_label_for_are_skipped_and_preferred_terms_merged(stage: Stage) -> None:
    term = {
        "labelSelector": {"matchLabels": {"app": "one"}},
        "matchLabelKeys": ["absent", "present"],
        "mismatchLabelKeys": ["other"],
        "topologyKey": "kubernetes.io/hostname",
    }
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}
    labels = {"present": "yes", "other": "b"}
    stage.create(pod("one", labels=labels, affinity={"podAffinity": preferred, "podAntiAffinity": preferred}))
    path = (
        "{.spec.affinity.podAffinity.*[*].podAffinityTerm.labelSelector.matchExpressions}"
        "{.spec.affinity.podAntiAffinity.*[*].podAffinityTerm.labelSelector.matchExpressions}"
    )
    merged = '[{"key":"present","operator":"In","values":["yes"]},{"key":"other","operator":"NotIn","values":["b"]}]'
    assert stage.read("pod one", path) == merged * 2


def test_what_is_refused(stage: Stage) -> None:
    def one(**term: object) -> Raw:
        affinity = {"podAffinity": {TERM: [{"topologyKey": "node-pool", **term}]}}
        return pod("one", labels={"tenant": "a"}, affinity=affinity)

    path = f"spec.affinity.podAffinity.{TERM}[0]"
    # Story 2, as it is printed: no labelSelector beside the keys.
    assert stage.refused(one(matchLabelKeys=["tenant"])) == (
        f'The Pod "one" is invalid: {path}.matchLabelKeys: '
        "Forbidden: must not be specified when labelSelector is not set"
    )
    both = stage.refused(one(matchLabelKeys=["tenant"], mismatchLabelKeys=["tenant"], labelSelector={}))
    assert f'{path}.matchLabelKeys[0]: Invalid value: "tenant": exists in both matchLabelKeys and mismatch' in both
    # The path of this one is upstream's, odd as it is.
    conflict = one(matchLabelKeys=["tenant"], labelSelector={"matchLabels": {"tenant": "a"}})
    assert stage.refused(conflict) == (
        f'The Pod "one" is invalid: {path}[0]: Invalid value: "tenant": exists in both matchLabelKeys and labelSelector'
    )


def test_a_template_is_not_merged(stage: Stage) -> None:
    [deployment] = documents_of("rolling-update-with-match-label-keys", "application-server.yaml")
    deployment["spec"]["replicas"] = 0
    stage.create(deployment)
    stored = stage.object("deployment application-server")["spec"]["template"]["spec"]["affinity"]
    assert stored == deployment["spec"]["template"]["spec"]["affinity"]
