"""Tokens that work once, and the sessions they are exchanged for."""

from moorage.dashboard.http.sessions import Sessions, cookie_name, session_in, set_cookie


def test_a_token_is_exchanged_once() -> None:
    sessions = Sessions()
    token = sessions.token
    session = sessions.exchange(token)
    assert session
    assert sessions.has(session)
    assert sessions.exchange(token) == ""
    assert sessions.token == ""


def test_wrong_and_empty_tokens_are_not_exchanged() -> None:
    sessions = Sessions()
    assert [sessions.exchange(text) for text in ("", "wrong", sessions.token[:-1], sessions.token + "x", "ü")] == [
        ""
    ] * 5
    sessions.exchange(sessions.token)
    assert sessions.exchange("") == ""
    assert not sessions.has("")


def test_a_new_token_voids_the_one_before() -> None:
    sessions = Sessions()
    old, new = sessions.token, sessions.renew()
    assert sessions.exchange(old) == ""
    assert sessions.exchange(new)


def test_the_oldest_session_ends_when_there_are_too_many() -> None:
    sessions = Sessions()
    made = [sessions.exchange(sessions.renew()) for _ in range(65)]
    assert [sessions.has(one) for one in (made[0], made[1], made[-1])] == [False, True, True]


def test_cookies_of_dashboards_on_other_ports_are_others() -> None:
    sent = f"a=b; {cookie_name(8002)}=theirs; {set_cookie(8001, 'ours').partition(';')[0]}; c"
    assert session_in(sent, 8001) == "ours"
    assert session_in(sent, 8002) == "theirs"
    assert session_in(sent, 8003) == ""
    assert session_in("", 8001) == ""
