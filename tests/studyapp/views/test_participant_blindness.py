"""The answer is nowhere in what a participant receives, and texts are shown literally."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.db.models import Value
from django.db.models.functions import Concat
from django.test import Client

from studyapp.domain import lifecycle, schedule
from studyapp.enums import Interface, RunKind
from studyapp.models import Candidate, Claim, Condition, GoldSet, Study, Trial
from studyapp.triggers import remove_triggers
from tests import factories
from tests.studyapp.views.pages import HTMX, form_ending, has_form, join, run_url, trial_url


def everything_of(response: Any) -> str:
    """Head and body of an answer: nothing else reaches the browser."""
    head = "\n".join(f"{name}: {value}" for name, value in response.headers.items())
    return f"{head}\n{response.content.decode()}"


@pytest.mark.parametrize("interface", list(Interface))
def test_label_gold_sets_conditions_and_ids_do_not_change_a_byte(
    study: Study, client: Client, interface: str
) -> None:
    """Whatever is secret is changed behind the page: the page must stay the same."""
    _, trial = factories.started_in(study, interface)
    rank = min(2, len(trial.stimulus["order"]))

    def pages() -> list[str]:
        look = [client.get(run_url(trial.enrolment) + page) for page in ("", "help", "withdraw")]
        again = client.post(trial_url(trial) + "reveal", {"rank": rank}, headers=HTMX)
        return [everything_of(response) for response in [*look, again]]

    client.post(trial_url(trial) + "reveal", {"rank": rank})
    before = pages()
    Claim.objects.filter(study=study, label="refuted").update(label="partially_supported")
    Claim.objects.filter(study=study, label="supported").update(label="refuted")
    Claim.objects.update(
        claim_id=Concat(Value("other-"), "claim_id"), gold_min_size=2, source="x", license="y"
    )
    GoldSet.objects.update(members=[4])
    for condition in Condition.objects.all():
        condition.name = f"renamed-{condition.pk}"
        condition.method = "other"
        condition.save()
    assert pages() == before


@pytest.mark.django_db
def test_the_number_of_sentences_does_not_change_a_byte(client: Client) -> None:
    study = factories.open_study()
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    before = everything_of(client.get(run_url(trial.enrolment)))
    # The database keeps a frozen order from changing: this test does it on purpose.
    remove_triggers(connection)
    Claim.objects.update(n_candidates=3)
    trial.stimulus = {"order": trial.stimulus["order"][:2]}
    trial.save()
    assert everything_of(client.get(run_url(trial.enrolment))) == before


def test_the_total_is_shown_where_the_study_says_so(db: None, client: Client) -> None:
    study = factories.open_study(shows_total=True)
    _, trial = factories.started_in(study, Interface.INCREMENTAL)
    assert "1 of 5 shown" in client.get(run_url(trial.enrolment)).content.decode()
    revealed = client.post(trial_url(trial) + "reveal", {"rank": 2}, headers=HTMX)
    assert "2 of 5 shown" in revealed.content.decode()


def test_no_page_of_a_sitting_names_what_is_secret(db: None, client: Client) -> None:
    study = factories.draft_study()
    factories.add_claims(study, 4)
    for claim in study.claims.all():
        claim.claim_id = f"secret-id-{claim.position}"
        claim.source = "secret-source"
        claim.save()
    factories.add_conditions(study)
    for condition in study.conditions.all():
        condition.name = f"secret-condition-{condition.position}"
        condition.save()
    factories.add_evidence(study)
    schedule.lay_out(study, 2, 1, 7)
    study = lifecycle.open_study(Study.objects.get(pk=study.pk))

    texts = set(Candidate.objects.values_list("text", flat=True))
    seen: list[str] = []

    def check(response: Any, trial: Trial | None) -> None:
        page = everything_of(response)
        seen.append(page)
        for word in ("secret", "gold", "msr", "imsr", "document_order", "top_k", "incremental"):
            assert word not in page.lower()
        assert "all_at_once" not in page.lower()
        # Only sentences already shown, and nothing of claims to come.
        allowed: set[str] = set()
        if trial is not None:
            trial.refresh_from_db()
            positions = trial.stimulus["order"][: trial.n_steps]
            allowed = set(
                trial.claim.candidates.filter(position__in=positions).values_list("text", flat=True)
            )
        assert {text for text in texts if text in page} <= allowed
        # The position of a candidate is a hint to the document's order: only ranks are named.
        ids = re.findall(r'id="sentence-(\d+)"', page)
        assert ids == sorted(ids, key=int)

    page = client.get(f"/p/{study.code}/")
    check(page, None)
    page = client.get(join(client, study).headers["Location"])
    check(page, None)
    page = client.post(*form_ending(page, "begin"), headers=HTMX)
    for _ in range(4):
        trial = Trial.objects.get(state="open")
        check(page, trial)
        check(client.get(run_url(trial.enrolment)), trial)
        while has_form(client.get(run_url(trial.enrolment)), "/reveal"):
            fragment = client.post(
                trial_url(trial) + "reveal", {"rank": trial.n_steps + 1}, headers=HTMX
            )
            check(fragment, trial)
        data = {"decision": "supported", "n_shown": trial.n_steps}
        page = client.post(trial_url(trial) + "decide", data, headers=HTMX)
    check(page, None)
    assert len(seen) > 12


def test_the_two_interfaces_differ_by_the_reveal_button_only(study: Study, client: Client) -> None:
    def shape(interface: str) -> str:
        for _ in range(study.slots.count()):
            _, trial = factories.started(study, RunKind.SIMULATED)
            if trial.condition.interface == interface:
                break
        page = client.get(run_url(trial.enrolment)).content.decode()
        page = page.replace(trial.enrolment.token, "TOKEN").replace(trial.code, "TRIAL")
        page = page.replace(trial.claim.text, "CLAIM")
        page = re.sub(r"<li .*?</li>\s*", "", page, flags=re.S)
        page = re.sub(r'(name="n_shown" value=)"\d+"', r'\1"N"', page)
        page = re.sub(
            r"<form [^>]*/reveal\".*?<button.*?</button>(.*?)<p class=\"unsaved\".*?</form>",
            r"\1",
            page,
            flags=re.S,
        )
        page = re.sub(r'</?span( id="shown")?>|<input type="hidden" name="rank"[^>]*>', "", page)
        return re.sub(r"\s+", "", page)

    assert shape(Interface.INCREMENTAL) == shape(Interface.ALL_AT_ONCE)


def test_markup_in_claims_and_sentences_is_shown_literally(db: None, client: Client) -> None:
    study = factories.ready_study()
    claim_text = '</script><script>alert(1)</script> x < y and <b>bold</b> & "quoted" &amp;'
    Claim.objects.update(text=claim_text)
    Candidate.objects.update(text="One.\n\n<img src=x onerror=alert(2)>", title="<i>Page</i>")
    study = lifecycle.open_study(study)
    _, trial = factories.started(study)
    page = client.get(run_url(trial.enrolment)).content.decode()
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "<i>" not in page
    assert "x &lt; y and &lt;b&gt;bold&lt;/b&gt; &amp; &quot;quoted&quot; &amp;amp;" in page
    # Line breaks arrive as they are (the style sheet shows them).
    assert "One.\n\n&lt;img" in page


def test_claim_and_sentences_carry_language_and_direction(db: None, client: Client) -> None:
    study = factories.ready_study()
    Claim.objects.update(lang="ar", text="أُسِّست شركة Apple في 1976 (كاليفورنيا).")
    _, trial = factories.started(lifecycle.open_study(study))
    page = client.get(run_url(trial.enrolment)).content.decode()
    claim = re.search(r'<span class="claim-text"([^>]*)>', page)
    assert claim is not None
    assert 'dir="auto"' in claim[1]
    assert 'lang="ar"' in claim[1]
    assert 'translate="no"' in claim[1]
    assert all('dir="auto"' in item for item in re.findall(r"<li [^>]*>", page))


def test_a_study_without_confirmation_offers_one_button_an_answer(db: None, client: Client) -> None:
    study = factories.open_study(confirms_decision=False)
    _, trial = factories.started(study)
    page = client.get(run_url(trial.enrolment)).content.decode()
    assert re.findall(r'name="decision" value="(\w+)"', page) == [
        "supported",
        "refuted",
        "cant_decide",
    ]
    assert "radio" not in page
