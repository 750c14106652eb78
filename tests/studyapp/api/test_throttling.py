"""How often a token may ask, and an address be wrong."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings
from redis.exceptions import ConnectionError as RedisAway

from studyapp.api.throttles import TokenThrottle
from tests.studyapp.api.asking import Api, error_of, researcher

pytestmark = pytest.mark.django_db


@override_settings(API_RATE="3/min")
def test_a_token_is_refused_for_a_while_and_others_are_not() -> None:
    ann, bob = Api(researcher("ann")), Api(researcher("bob"))
    assert [ann.get("studies/").status_code for _ in range(4)] == [200, 200, 200, 429]
    answer = ann.get("studies/")
    assert error_of(answer)["code"] == "throttled"
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert bob.get("studies/").status_code == 200


@override_settings(API_RATE="1/min")
def test_a_token_may_ask_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    ann = Api(researcher("ann"))
    assert [ann.get("studies/").status_code for _ in range(2)] == [200, 429]
    start = TokenThrottle.timer()
    monkeypatch.setattr(TokenThrottle, "timer", lambda self: start + 61)
    assert ann.get("studies/").status_code == 200


@override_settings(API_FAILURE_RATE="3/min")
def test_an_address_that_is_wrong_too_often_is_not_looked_up(
    django_assert_num_queries: Any,
) -> None:
    ann, wrong = Api(researcher("ann")), Api(token="wrong")
    assert [wrong.get("studies/").status_code for _ in range(3)] == [401, 401, 401]
    with django_assert_num_queries(0):
        answer = wrong.get("studies/")
    assert (answer.status_code, error_of(answer)["code"]) == (429, "throttled")
    assert ann.get("studies/").status_code == 429
    assert ann.get("studies/", REMOTE_ADDR="192.0.2.7").status_code == 200


@override_settings(API_FAILURE_RATE="2/min")
def test_right_tokens_and_missing_ones_count_as_no_failure() -> None:
    ann, nobody = Api(researcher("ann")), Api()
    assert [ann.get("studies/").status_code for _ in range(4)] == [200] * 4
    assert [nobody.get("studies/").status_code for _ in range(4)] == [401] * 4


@override_settings(API_FAILURE_RATE="1/min")
def test_a_header_of_the_client_does_not_change_its_address() -> None:
    wrong = Api(token="wrong")
    assert wrong.get("studies/").status_code == 401
    answer = wrong.get("studies/", headers={"X-Forwarded-For": "192.0.2.9"})
    assert answer.status_code == 429


def test_a_cache_that_is_away_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise RedisAway("refused")

    monkeypatch.setattr(TokenThrottle.cache, "get", away, raising=False)
    assert Api(researcher("ann")).get("studies/").status_code == 200
    assert Api(token="wrong").get("studies/").status_code == 401
