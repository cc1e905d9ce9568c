"""Every cluster has the roles and bindings of Kubernetes v1.36.4, and users' changes of them last."""

import hashlib
import json
from typing import Any

from tests.unit.serve.verbs.bench import new_api

from moorage.model.kinds import KINDS, Ref
from moorage.serve.access.bootstrap.policy import AUTO_UPDATE, bootstrap_bindings, bootstrap_roles
from moorage.serve.cluster.bootstrap import bootstrap, reconcile_bootstrap_policy
from moorage.serve.requests.options import WriteOptions
from moorage.serve.resources.objects import decode, key_of
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import replace

#: Of the objects of a new kube-apiserver v1.36.4, without what differs from cluster to cluster.
REAL = "9a58d3c1663336f0fc1f54798d4e002d4f9fd6fc865106ff79059a3c7fcdaae7"
VERSION = "rbac.authorization.k8s.io/v1"
VIEWER = Ref(KINDS[VERSION, "ClusterRole"], "", "system:public-info-viewer")
BINDING = Ref(KINDS[VERSION, "ClusterRoleBinding"], "", "system:public-info-viewer")
DISCOVERY = Ref(KINDS[VERSION, "ClusterRole"], "", "system:discovery")


def test_the_policy_is_that_of_kube_apiserver() -> None:
    def place(document: dict[str, Any]) -> tuple[str, str, str]:
        metadata = document["metadata"]
        return document["kind"], metadata.get("namespace", ""), metadata["name"]

    ours = sorted([*bootstrap_roles(), *bootstrap_bindings()], key=place)
    assert len(ours) == 133
    assert hashlib.sha256(json.dumps(ours, sort_keys=True).encode()).hexdigest() == REAL


async def read(api: Api, ref: Ref) -> dict[str, Any]:
    stored = await api.store.get(key_of(*ref))
    assert stored is not None
    return decode(ref.kind, stored)


async def test_what_is_missing_is_added_and_what_users_added_stays() -> None:
    async with new_api() as api:
        await bootstrap(api, 443)
        revision = api.store.revision
        await reconcile_bootstrap_policy(api)
        assert api.store.revision == revision  # nothing to do
        own = {"verbs": ["get"], "nonResourceURLs": ["/own"]}
        role = await read(api, VIEWER)
        kept = role["rules"][0]["nonResourceURLs"][1:]
        rules = [{"verbs": ["get"], "nonResourceURLs": kept}, own]
        await replace(api, VIEWER, {**role, "rules": rules}, WriteOptions())
        binding = await read(api, BINDING)
        subject = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
        await replace(api, BINDING, {**binding, "subjects": [subject, binding["subjects"][0]]}, WriteOptions())
        alone = await read(api, DISCOVERY)
        alone["metadata"]["annotations"][AUTO_UPDATE] = "false"
        await replace(api, DISCOVERY, {**alone, "rules": [own]}, WriteOptions())

        await reconcile_bootstrap_policy(api)
        missing = {"verbs": ["get"], "nonResourceURLs": role["rules"][0]["nonResourceURLs"][:1]}
        assert (await read(api, VIEWER))["rules"] == [*rules, missing]
        assert (await read(api, BINDING))["subjects"] == [subject, *binding["subjects"]]
        assert (await read(api, DISCOVERY))["rules"] == [own]
