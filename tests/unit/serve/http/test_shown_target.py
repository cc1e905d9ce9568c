"""Logs show which parameters a request has, and hide what may be a secret."""

import logging

import pytest
from tests.log_text import log_text
from tests.unit.serve.http.serving import connect, echo, serving

from moorage.serve.http.shown_target import shown_target
from moorage.serve.requests.request_log import RequestLog


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("/api/v1/pods", "/api/v1/pods"),
        ("/api/v1/pods?watch=1&limit=5", "/api/v1/pods?watch=1&limit=5"),
        ("/api/v1/pods?labelSelector=a%3Db&watch", "/api/v1/pods?labelSelector=a%3Db&watch"),
        ("/?token=s3cret", "/?token=***"),
        ("/?limit=1&token=s3cret&watch=", "/?limit=1&token=***&watch="),
        ("/?tok%65n=s3cret", "/?tok%65n=***"),
        ("/?token=s3cret=limit", "/?token=***"),
        ("/?Limit=s3cret", "/?Limit=***"),
        ("/?limit=1;token=s3cret", "/?limit=***"),
        ("/?limit=1%3Btoken=s3cret", "/?limit=***"),
        ("/p/exec?command=sh&command=s3cret&tty=true", "/p/exec?command=***&command=***&tty=true"),
        ("http://user:s3cret@host/api?token=s3cret", "http://host/api?token=***"),
    ],
)
def test_values_that_may_be_secrets_are_hidden(target: str, shown: str) -> None:
    assert shown_target(target) == shown
    assert "s3cret" not in shown


def test_a_long_target_is_cut() -> None:
    assert len(shown_target("/" + "x" * 100_000)) < 3_000
    assert len(shown_target("/?" + "a=b&" * 100_000)) < 3_000


@pytest.mark.real_time(loop="uvloop")
async def test_no_log_line_has_the_token_of_a_request(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(echo) as server:
        server.request_log = RequestLog()
        with caplog.at_level(logging.INFO - 9, "moorage"):
            client = await connect(server)
            client.send("GET /?token=s3cret&limit=5")
            await client.answer()
    assert 'URI="/?token=***&limit=5"' in log_text(caplog)
    assert "s3cret" not in log_text(caplog)
