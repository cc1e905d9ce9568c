"""What the page says of a cluster that does not answer, and the command that it names."""

import pytest

from moorage.client.kubeconfig.access import Access
from moorage.client.protocol import Unreachable
from moorage.dashboard.state.silence import silence_of
from moorage.model.api_error import ApiError, failure

SERVER = "https://10.0.0.1:6443"
UNAUTHORIZED = failure(401, "Unauthorized", "Unauthorized")
FORBIDDEN = failure(403, "Forbidden", 'pods is forbidden: User "ann" cannot list resource "pods"')
BROKEN = failure(500, "InternalError", "etcdserver: no leader")
GONE = Unreachable(f"{SERVER}: connection refused")


@pytest.mark.parametrize(
    ("error", "context", "kubeconfig", "words", "command"),
    [
        (
            GONE,
            "production",
            "",
            "cannot be reached: connection refused.",
            "kubectl --context production get --raw /readyz",
        ),
        (GONE, "moorage", "", "goes on by itself", "moorage list"),
        (GONE, "moorage-shop", "", "cannot be reached", "moorage list"),
        (GONE, "moorages", "", "cannot be reached", "kubectl --context moorages get --raw /readyz"),
        (GONE, "", "", "cannot be reached", "kubectl get --raw /readyz"),
        (TimeoutError(), "a", "", "gave no answer within 30 s.", "kubectl --context a get --raw /readyz"),
        (UNAUTHORIZED, "a", "", "does not accept the kubeconfig's credentials", "kubectl --context a auth whoami"),
        (UNAUTHORIZED, "a b", "my files/k", "Log in", "kubectl --kubeconfig 'my files/k' --context 'a b' auth whoami"),
        (
            FORBIDDEN,
            "a",
            "",
            "does not let pods be listed any more",
            "kubectl --context a auth can-i list pods --all-namespaces",
        ),
        (BROKEN, "a", "", "etcdserver: no leader.", "kubectl --context a get pods --all-namespaces"),
    ],
)
def test_words_and_commands(
    error: ApiError | Unreachable | TimeoutError, context: str, kubeconfig: str, words: str, command: str
) -> None:
    said = silence_of(error, Access(SERVER, context=context), kubeconfig, 30.0)
    assert said.problem.startswith(SERVER)
    assert words in said.problem
    assert said.command == command
