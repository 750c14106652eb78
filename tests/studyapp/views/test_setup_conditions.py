"""Setting up: conditions with every parameter of their method, their order, and what is lost."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from rankers.registry import METHODS
from studyapp.domain import draft_conditions, precompute
from studyapp.errors import NotEditable
from studyapp.models import Condition, PrecomputeJob, Ranking, Selection, Study
from tests import factories
from tests.studyapp.views.setup_pages import client_of, fields_of, researcher, url, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return client_of()


@pytest.fixture
def draft() -> Study:
    return factories.draft_study("bridges", owner=researcher())


def names(study: Study) -> list[str]:
    return list(study.conditions.order_by("position").values_list("name", flat=True))


def n_stored() -> tuple[int, int, int]:
    return (
        Ranking.objects.count(),
        Selection.objects.count(),
        PrecomputeJob.objects.count(),
    )


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_form_whose_defaults_make_a_condition(
    client: Client, draft: Study, method: str
) -> None:
    page = client.get(url(draft, "condition-new", method))
    said = words(page)
    for param in METHODS[method].params:
        assert param.allowed.split(",")[0] in said
    response = client.post(url(draft, "condition-new", method), fields_of(page))
    assert response.status_code == 303, words(response)
    stored = Condition.objects.get()
    assert stored.method == method
    assert stored.params == {param.name: param.default for param in METHODS[method].params}
    kind = "incremental" if METHODS[method].kind == "ranker" else "all_at_once"
    assert (stored.interface, stored.model, stored.embedder) == (kind, "", "")


def test_every_method_is_offered_with_what_it_needs(client: Client, draft: Study) -> None:
    page = client.get(url(draft, "conditions"))
    for method in METHODS:
        assert url(draft, "condition-new", method) in page.content.decode()
    said = words(page)
    assert "OPENAI_BASE_URL" in said
    assert "an upper bound rather than a method" in said


def test_parameters_are_stored_as_typed_values(client: Client, draft: Study) -> None:
    sent = {
        "name": "mine", "model": " gpt-x ", "embedder": "wordllama",
        "param_tournament": "paper", "param_group": "10", "param_keep": "3",
        "param_instructions": "user", "param_reasoning_tokens": "0", "param_attempts": "2",
        "param_temperature": "0.5",
    }  # fmt: skip
    client.post(url(draft, "condition-new", "reranker"), sent)
    stored = Condition.objects.get()
    assert (stored.name, stored.model, stored.embedder) == ("mine", "gpt-x", "wordllama")
    assert stored.params == {
        "tournament": "paper", "group": 10, "keep": 3, "instructions": "user",
        "reasoning_tokens": 0, "attempts": 2, "temperature": 0.5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "sent", "said"),
    [
        ("bm25", {"name": ""}, "Fill this in."),
        ("bm25", {"name": "two words"}, "use letters, digits, hyphens and underscores only"),
        ("bm25", {"name": "a", "param_b": "1.5"}, "less than or equal to 1"),
        ("bm25", {"name": "a", "param_b": "nan"}, "Enter a number"),
        ("bm25", {"name": "a", "param_k1": "x"}, "Enter a number"),
        ("bm25", {"name": "taken"}, "'taken' exists already"),
        ("top_k", {"name": "a", "param_base": "top_k"}, "top_k is not one of"),
        ("top_k", {"name": "a", "param_k": "0"}, "greater than or equal to 1"),
        ("llm", {"name": "a", "param_layout": "odd"}, "odd is not one of"),
        ("similarity", {"name": "a", "embedder": "magic"}, "unknown embedder 'magic'"),
    ],
)
def test_a_wrong_value_is_said_beside_its_field_and_kept(
    client: Client, draft: Study, method: str, sent: dict[str, str], said: str
) -> None:
    factories.lifecycle.add_condition(draft, "taken", "incremental", "random")
    response = client.post(url(draft, "condition-new", method), sent)
    assert response.status_code == 422
    assert said in words(response)
    assert names(draft) == ["taken"]
    assert fields_of(response)["name"] == sent["name"]


def test_an_unknown_method_has_no_page(client: Client, draft: Study) -> None:
    assert client.get(url(draft, "condition-new", "magic")).status_code == 404


def test_a_new_name_keeps_the_rankings_and_anything_else_deletes_them(
    client: Client, draft: Study
) -> None:
    factories.add_claims(draft, 3)
    factories.lifecycle.add_condition(draft, "first", "incremental", "bm25")
    factories.lifecycle.add_condition(draft, "second", "all_at_once", "top_k")
    factories.add_evidence(draft)
    address = url(draft, "condition", draft.conditions.get(name="first").pk)
    page = client.get(address)
    assert "Its 3 stored rankings will be deleted if you change anything but the name." in words(
        page
    )
    client.post(address, fields_of(page) | {"name": "renamed"})
    assert (names(draft), n_stored()) == (["renamed", "second"], (3, 3, 6))
    client.post(address, fields_of(page) | {"name": "renamed", "param_b": "0.5"})
    assert n_stored() == (0, 3, 3)
    assert draft.conditions.get(name="renamed").params == {"k1": 1.5, "b": 0.5}


def test_a_name_that_another_condition_has_is_refused(client: Client, draft: Study) -> None:
    factories.add_conditions(draft)
    address = url(draft, "condition", draft.conditions.get(name="selection").pk)
    response = client.post(address, fields_of(client.get(address)) | {"name": "ranking"})
    assert response.status_code == 422
    assert "'ranking' exists already" in words(response)


def test_conditions_change_places_and_with_them_the_contrast(client: Client, draft: Study) -> None:
    for name in "abc":
        factories.lifecycle.add_condition(draft, name, "incremental", "random")
    third = draft.conditions.get(name="c")
    for to, order in (("up", "acb"), ("up", "cab"), ("up", "cab"), ("odd", "cab"), ("down", "acb")):
        client.post(url(draft, "condition-move", third.pk), {"to": to})
        assert "".join(names(draft)) == order
    assert "Contrast in the report: a minus c." in words(client.get(url(draft, "conditions")))


def test_removing_says_what_is_lost_and_moves_the_others_up(client: Client, draft: Study) -> None:
    factories.add_claims(draft, 2)
    factories.add_conditions(draft)
    factories.add_evidence(draft)
    address = url(draft, "condition-remove", draft.conditions.get(name="ranking").pk)
    assert "2 stored rankings will be deleted with it." in words(client.get(address))
    assert names(draft) == ["ranking", "selection"]
    client.post(address)
    assert list(draft.conditions.values_list("name", "position")) == [("selection", 1)]
    assert n_stored() == (0, 2, 2)
    assert client.post(address).status_code == 404


def test_a_condition_added_after_another_was_removed_comes_last(
    client: Client, draft: Study
) -> None:
    for name in "ab":
        factories.lifecycle.add_condition(draft, name, "incremental", "random")
    client.post(url(draft, "condition-remove", draft.conditions.get(name="a").pk))
    client.post(url(draft, "condition-new", "bm25"), {"name": "c"})
    assert list(draft.conditions.values_list("name", "position")) == [("b", 1), ("c", 2)]


def test_the_conditions_of_a_schedule_stay(client: Client) -> None:
    study = factories.ready_study(owner=researcher())
    condition = study.conditions.get(name="ranking")
    said = words(client.get(url(study, "conditions")))
    assert "remove the schedule first" in said
    for address, sent in (
        (url(study, "condition-new", "bm25"), {"name": "new"}),
        (url(study, "condition", condition.pk), {"name": "new"}),
        (url(study, "condition-move", condition.pk), {"to": "down"}),
        (url(study, "condition-remove", condition.pk), {}),
    ):
        response = client.post(address, sent)
        assert response.status_code == 409
        assert "The study has a schedule already" in words(response)
    assert names(study) == ["ranking", "selection"]


def test_another_studys_condition_is_not_found(client: Client, draft: Study) -> None:
    other = factories.ready_study(owner=researcher())
    foreign: Any = other.conditions.get(name="ranking").pk
    for page in ("condition", "condition-remove"):
        assert client.get(url(draft, page, foreign)).status_code == 404
    assert client.post(url(draft, "condition-move", foreign), {"to": "down"}).status_code == 404


def test_a_condition_that_is_gone_meanwhile_is_refused(draft: Study) -> None:
    factories.add_conditions(draft)
    gone = draft.conditions.get(name="ranking")
    draft_conditions.remove_condition(gone)
    with pytest.raises(NotEditable, match="removed meanwhile"):
        draft_conditions.change_condition(Condition(pk=gone.pk, study=draft), name="x")


def test_a_result_computed_for_an_older_setting_is_not_stored(
    draft: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studyapp.tasks.prepare.delay", lambda job_id: None)
    factories.add_claims(draft, 1)
    condition = factories.lifecycle.add_condition(draft, "first", "incremental", "bm25")
    precompute.queue_jobs(draft)
    compute = precompute._compute

    def slow_compute(*args: Any) -> Any:
        result = compute(*args)
        draft_conditions.change_condition(condition, params={"b": 0.5})
        return result

    monkeypatch.setattr(precompute, "_compute", slow_compute)
    precompute.run_job(PrecomputeJob.objects.get().pk)
    assert n_stored() == (0, 0, 0)
