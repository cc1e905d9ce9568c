"""The grammar of URLs, what their parts are, and Go's words for what is none."""

import pytest

from moorage.match.cel.libraries.url_value import URLError, parse_request_uri, parse_url


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty url"),
        ("bad url", "invalid URI for request"),
        ("../relative", "invalid URI for request"),
        (":x", "missing protocol scheme"),
        ("1http://a", "invalid URI for request"),
        ("http://a b/", 'invalid character " " in host name'),
        ("http://a:b:c/", 'invalid port ":b:c" after host'),
        ("http://a:80:80/", 'invalid port ":80:80" after host'),
        ("http://a:x/", 'invalid port ":x" after host'),
        ("http://[::1/", "missing ']' in host"),
        ("http://[::1]x/", 'invalid port "x" after host'),
        ("http://x[::1]/", "invalid IP-literal"),
        ("http://[1.2.3.4]/", "invalid IP-literal"),
        ("http://[zz]/", 'invalid host: ParseAddr("zz"): unable to parse IP'),
        ("http://[fe80::1%25%0a]/", 'invalid URL escape "%0a"'),
        ("http://%41/", 'invalid URL escape "%41"'),
        ("http://a/%zz", 'invalid URL escape "%zz"'),
        ("http://a/%2", 'invalid URL escape "%2"'),
        ("http://a/%2é", 'invalid URL escape "%2\\xc3"'),
        ("http://a\\b/", 'invalid character "\\\\" in host name'),
        ("http://us er@a/", "net/url: invalid userinfo"),
        ("http://%zz@a/", 'invalid URL escape "%zz"'),
    ],
)
def test_invalid_request_uris_are_refused(text: str, message: str) -> None:
    with pytest.raises(URLError) as caught:
        parse_request_uri(text)
    assert str(caught.value) == f'parse "{text}": {message}'.replace("a\\b", "a\\\\b")


def test_control_characters_are_refused() -> None:
    with pytest.raises(URLError) as caught:
        parse_request_uri("http://a/\n")
    assert str(caught.value) == 'parse "http://a/\\n": net/url: invalid control character in URL'


@pytest.mark.parametrize(
    "text",
    ["/absolute", "*", "mailto:a@b", "postgres://a:1,b:2/db", "http://[::1]:80/", "http://[fe80::1%25eth0]", "//x"],
)
def test_valid_request_uris_are_accepted(text: str) -> None:
    parse_request_uri(text)


@pytest.mark.parametrize(
    ("text", "scheme", "host", "name", "port", "path"),
    [
        ("https://a.b:80/x", b"https", b"a.b:80", b"a.b", b"80", b"/x"),
        ("HTTP://A", b"http", b"A", b"A", b"", b""),
        ("http://[::1]:8080/a", b"http", b"[::1]:8080", b"::1", b"8080", b"/a"),
        ("http://[fe80::1%25e%20n]/", b"http", b"[fe80::1%e n]", b"fe80::1%e n", b"", b"/"),
        ("http://u:p@h:/x", b"http", b"h:", b"h", b"", b"/x"),
        ("http://%C3%A9.com/", b"http", "é.com".encode(), "é.com".encode(), b"", b"/"),
        ("/p/q", b"", b"", b"", b"", b"/p/q"),
        ("//h/p", b"", b"h", b"h", b"", b"/p"),
        ("///p", b"", b"", b"", b"", b"///p"),
        ("mailto:a@b", b"mailto", b"", b"", b"", b""),
        ("http://h/a b", b"http", b"h", b"h", b"", b"/a%20b"),
        ("http://h/a%2Fb", b"http", b"h", b"h", b"", b"/a%2Fb"),
        ("http://h/é", b"http", b"h", b"h", b"", b"/%C3%A9"),
        ("http://h/[x]!", b"http", b"h", b"h", b"", b"/[x]!"),
        ('http://h/"', b"http", b"h", b"h", b"", b"/%22"),
        ("*", b"", b"", b"", b"", b"*"),
    ],
)
def test_parts(text: str, scheme: bytes, host: bytes, name: bytes, port: bytes, path: bytes) -> None:
    url = parse_url(text)
    assert (url.scheme, url.host, *url.host_and_port(), url.escaped_path()) == (scheme, host, name, port, path)


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("k=v&k=w", {"k": ["v", "w"]}),
        ("", {}),
        ("a", {"a": [""]}),
        ("a=1&&b=2", {"a": ["1"], "b": ["2"]}),
        ("a=1;b=2&c=3", {"c": ["3"]}),
        ("a=%zz&b=x+y%20z", {"b": ["x y z"]}),
        ("&".join(["a=1"] * 10_001), {}),
    ],
)
def test_query(query: str, values: dict[str, list[str]]) -> None:
    assert parse_url(f"http://h/?{query}").query() == values


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("HTTPS://h/p?q=1#f", "https://h/p?q=1#f"),
        ("http://h?", "http://h?"),
        ("http://u:p%40@h/", "http://u:p%40@h/"),
        ("http://u@h/", "http://u@h/"),
        ("http:/p", "http:/p"),
        ("http:///p", "http:///p"),
        ("mailto:a?x", "mailto:a?x"),
        ("/a b#c d", "/a%20b#c%20d"),
        ("http://h/#a%20b", "http://h/#a%20b"),
        ("./a:b", "./a:b"),
    ],
)
def test_parsed_urls_are_written_as_go_writes_them(text: str, written: str) -> None:
    assert str(parse_url(text)) == written


def test_a_reference_may_not_look_like_a_scheme_nor_have_a_broken_fragment() -> None:
    with pytest.raises(URLError, match="first path segment in URL cannot contain colon"):
        parse_url("1a:b")
    with pytest.raises(URLError, match='parse "/#%zz": invalid URL escape "%zz"'):
        parse_url("/#%zz")
