"""The page /metrics/kube-state has what kube-state-metrics would print, and leaves the loop to others meanwhile."""

import asyncio

import pytest
from tests.unit.serve.verbs.bench import ME, document, new_api

from moorage.model.kinds import KINDS
from moorage.serve.http.messages import Stream
from moorage.serve.requests import kube_state
from moorage.serve.requests.kube_state import answer_kube_state
from moorage.serve.subresources.pods import bind
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.creating import create
from moorage.store.memory import MemoryStore

SPEC = {
    "containers": [{"name": "a", "image": "b"}],
    "tolerations": [{"key": "sla", "operator": "Equal", "value": "9", "effect": "NoSchedule"}, {"operator": "Exists"}],
}


async def page(api: Api) -> str:
    answer = answer_kube_state(api.store)
    assert isinstance(answer, Stream)
    assert answer.is_whole
    return b"".join([chunk async for chunk in answer.chunks]).decode()


async def filled(api: Api) -> None:
    taints = [{"key": "sla", "value": "5", "effect": "NoSchedule"}]
    await create(api, KINDS.NODE, "", document(KINDS.NODE, "n1", spec={"taints": taints}), ME)
    await create(api, KINDS.POD, "default", document(KINDS.POD, "web", spec=SPEC), ME)
    await create(api, KINDS.POD, "default", document(KINDS.POD, "idle", spec=SPEC), ME)
    target = {"metadata": {"name": "web"}, "target": {"kind": "Node", "name": "n1"}}
    await bind(api, "default", "web", target)


async def test_phases_and_times_are_printed_as_kube_state_metrics_does() -> None:
    async with new_api() as api:
        await filled(api)
        text = await page(api)
    lines = text.splitlines()
    start = lines.index("# HELP kube_pod_status_phase [STABLE] The pods current phase.")
    assert lines[start + 1] == "# TYPE kube_pod_status_phase gauge"
    idle = [line for line in lines[start + 2 : start + 12] if 'pod="idle"' in line]
    own = idle[0].partition("{")[2].partition(",phase")[0]
    assert own.startswith('namespace="default",pod="idle",uid="uid-')
    assert idle == [
        f'kube_pod_status_phase{{{own},phase="{phase}"}} {int(phase == "Pending")}'
        for phase in ("Pending", "Succeeded", "Failed", "Unknown", "Running")
    ]
    scheduled = [line for line in lines if line.startswith("kube_pod_status_scheduled_time{")]
    assert len(scheduled) == 1
    assert 'pod="web"' in scheduled[0]
    assert scheduled[0].endswith(" 1.767323045e+09")
    assert 'kube_node_spec_taint{node="n1",key="sla",value="5",effect="NoSchedule"} 1' in lines
    assert 'kube_node_spec_unschedulable{node="n1"} 0' in lines
    assert any(line.startswith("kube_pod_tolerations{") and ',key="sla",operator="Equal",' in line for line in lines)
    info = next(line for line in lines if line.startswith("kube_pod_info{") and 'pod="web"' in line)
    assert info.endswith(
        'host_ip="",pod_ip="",node="n1",created_by_kind="",created_by_name="",priority_class="",host_network="false"} 1'
    )
    assert len({*lines}) == len(lines)


async def test_objects_that_were_read_from_disk_are_shown_too() -> None:
    async with new_api() as api:
        await filled(api)
        forgetful = MemoryStore()
        for prefix in ("/pods/", "/nodes/"):
            for item in (await api.store.list(prefix)).items:
                await forgetful.create(item.key, item.value)
        api.store = forgetful
        assert 'kube_pod_status_phase{namespace="default",pod="web"' in await page(api)


async def test_others_work_while_the_page_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    async with new_api() as api:
        await filled(api)
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        running = asyncio.create_task(others())
        monkeypatch.setattr(kube_state, "SLICE_SECONDS", 0.0)
        await page(api)
        running.cancel()
    assert turns > 20
