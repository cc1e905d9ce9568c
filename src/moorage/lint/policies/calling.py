"""Call webhooks about objects that are in no cluster.

Nothing else happens meanwhile, so a call simply takes its time. A webhook behind a Service is called where the user
says that it is. Which webhooks are called is decided by `OfflineExtensions.answer`.
"""

import asyncio
from collections.abc import Iterable, Sequence

from moorage.admit.extension.steps import WebhookAnswer, WebhookCall
from moorage.lint.policies.offline_extensions import CallWebhooks
from moorage.model.go.quoting import go_quote
from moorage.serve.webhooks.client import WebhookClient
from moorage.serve.webhooks.connections import HostPort
from moorage.serve.webhooks.failures import CallFailed
from moorage.serve.webhooks.services import read_webhook_service
from moorage.serve.webhooks.targets import WebhookTarget


def webhook_caller(services: Iterable[str] = ()) -> CallWebhooks:
    """Return what calls webhooks. `services`: NAMESPACE/NAME=URL for those of Services. Raises BadAddress."""
    told = dict(read_webhook_service(service) for service in services)

    async def locate(target: WebhookTarget) -> HostPort:
        if target.service is None:
            return HostPort(target.host, target.port)
        if target.service not in told:
            namespace, name = target.service
            raise CallFailed(f"service {go_quote(name)} not found; --webhook-service {namespace}/{name}=URL names it")
        return told[target.service]

    async def ask(calls: Sequence[WebhookCall]) -> Sequence[WebhookAnswer]:
        client = WebhookClient(locate)
        try:
            return await client.answer(calls)
        finally:
            client.close()

    return lambda calls: asyncio.run(ask(calls))
