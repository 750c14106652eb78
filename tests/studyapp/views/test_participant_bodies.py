"""Bodies that no browser sends from our forms are refused quickly and readably."""

from __future__ import annotations

import pytest

from studyapp.models import Event, Participant
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("charset", ["undefined", "hex", "idna", "zlib", "base64", "nonsense"])
def test_a_form_in_an_odd_encoding_stores_nothing(client, study, charset):
    body = '--x\r\nContent-Disposition: form-data; name="form"\r\n\r\nabc\r\n--x--\r\n'
    answer = client.generic(
        "POST",
        f"/p/{study.code}/join",
        body,
        content_type=f"multipart/form-data; boundary=x; charset={charset}",
    )
    assert 400 <= answer.status_code < 500
    assert not Participant.objects.exists()


def test_a_body_beyond_any_form_is_not_read(client, study):
    enrolment, trial = factories.started_in(study, "incremental")
    before = Event.objects.count()
    answer = client.post(
        f"/p/{study.code}/r/{enrolment.token}/t/{trial.code}/reveal",
        {"rank": 2, "filler": "x" * 200_000},
    )
    assert answer.status_code == 400
    assert "cannot be read" in answer.content.decode()
    assert Event.objects.count() == before


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "//", "null, null"])
def test_an_origin_that_is_none_is_refused(client, study, origin):
    enrolment = factories.joined(study)
    answer = client.post(f"/p/{study.code}/r/{enrolment.token}/begin", headers={"Origin": origin})
    assert answer.status_code == 403
    assert not enrolment.trials.exists()
