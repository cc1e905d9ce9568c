import pytest

from moorage.serve.http.messages import Query, Request


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/api/v1/pods?limit=5&watch=1", "/api/v1/pods", "limit=5&watch=1"),
        ("/a%20b/%C3%A9?x=%20", "/a b/é", "x=%20"),
        ("/a%2Fb", "/a/b", ""),
        ("/%ff", "/\ufffd", ""),
        ("/%zz", "/%zz", ""),
        ("/\u00c3\u00a9", "/é", ""),
        ("http://host:1/a/b?c", "/a/b", "c"),
        ("http://host", "/", ""),
        ("/a?b=http://c", "/a", "b=http://c"),
        ("*", "*", ""),
        ("host:443", "host:443", ""),
        ("", "", ""),
    ],
)
def test_targets(target: str, path: str, query: str) -> None:
    request = Request("GET", target)
    assert (request.path, request.query_text) == (path, query)


def test_parameters_can_be_there_more_than_once() -> None:
    query = Query("a=1&a=2&b&c=%3D+x&&=empty")
    assert (query.get("a"), query.all("a")) == ("1", ["1", "2"])
    assert ("b" in query, query.get("b"), query.get("c")) == (True, "", "= x")
    assert (query.get("z"), query.get("z", "none"), query.all("z"), "z" in query) == ("", "none", [], False)
    assert query.names() == ["a", "b", "c", ""]
    assert Request("GET", "/").query.names() == []
