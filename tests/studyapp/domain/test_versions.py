"""A change after the opening is a new version: what it may change, and who is shown which."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from studyapp.domain import changing
from studyapp.domain.assignment import join, move_to_free_slot
from studyapp.domain.consent import consent_records, consent_version
from studyapp.domain.join_forms import JoinForm
from studyapp.domain.trials import find_run, record_decision, reveal_next, start_next_trial
from studyapp.domain.version_changes import Change
from studyapp.domain.versions import planned_changes, publish, version_rows
from studyapp.enums import AuditAction, EnrolmentState, StudyState
from studyapp.errors import ConsentChanged, NotEditable, StudyError
from studyapp.models import AuditEntry, Enrolment, Study, StudyVersion
from tests import factories

pytestmark = pytest.mark.django_db


def reloaded(study: Study) -> Study:
    return Study.objects.get(pk=study.pk)


def test_opening_makes_version_1_with_what_was_frozen(study: Study) -> None:
    study = reloaded(study)
    [version] = study.versions.all()
    assert (study.version, version.number, version.reason, version.who) == (1, 1, "", "command")
    assert version.content["texts"] == study.texts
    assert version.content["completion_code"] == study.completion_code
    assert {key: version.hashes[key] for key in study.frozen} == study.frozen
    assert factories.joined(study).version == 1


def test_publishing_stores_the_version_the_study_and_the_log_together(study: Study) -> None:
    before = reloaded(study)
    version = publish(study, {"texts": {"instructions": "Read fast."}}, " A typing error. ")
    after = reloaded(study)
    assert (after.state, after.version, version.number) == (StudyState.OPEN, 2, 2)
    assert after.texts == before.texts | {"instructions": "Read fast."}
    assert study.texts == after.texts
    assert version.reason == "A typing error."
    changed = {key for key in version.hashes if version.hashes[key] != before.frozen.get(key)}
    assert changed == {"texts", "settings"}
    assert {key: version.hashes[key] for key in after.frozen} == after.frozen
    entry = AuditEntry.objects.get(action=AuditAction.VERSION_PUBLISHED)
    assert entry.details == {"version": 2, "settings": "texts.instructions"}
    old, new = study.versions.order_by("number")
    assert old.content["texts"] == before.texts
    assert old.name != new.name


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"title": "Another"}, [("title", "Study {slug}", "Another")]),
        ({"texts": {"contact": "Ask Ann."}}, [("texts.contact", "", "Ask Ann.")]),
        ({"lease_minutes": 30}, [("lease_minutes", 120, 30)]),
        ({"confirms_decision": False}, [("confirms_decision", True, False)]),
        ({"sitting": {"break_every": 2}}, [("sitting.break_every", 0, 2)]),
        ({"recruiting": {"id_parameter": "PID"}}, [("recruiting.id_parameter", "", "PID")]),
        ({"completion_code": "NEW1", "seed": 7}, [("completion_code", "{code}", "NEW1")]),
    ],
)
def test_what_would_change_is_told_before_it_is_published(
    study: Study, changes: dict[str, Any], expected: list[tuple[str, Any, Any]]
) -> None:
    words = {"slug": study.slug, "code": study.completion_code}
    told = [
        Change(setting, old.format(**words) if isinstance(old, str) else old, new)
        for setting, old, new in expected
    ]
    assert planned_changes(study, changes) == told
    assert reloaded(study).version == 1


def test_an_object_of_settings_holds_only_what_changes_and_none_takes_it_back(
    study: Study,
) -> None:
    publish(study, {"sitting": {"break_every": 2, "reason": "optional"}}, "More rest.")
    publish(study, {"sitting": {"break_every": None}, "texts": {"contact": "Ask."}}, "No rest.")
    assert reloaded(study).sitting == {"reason": "optional"}
    publish(study, {"texts": {"contact": None}}, "Nobody to ask.")
    assert reloaded(study).texts["contact"] == ""


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({}, "Nothing changes"),
        ({"completion_code": ""}, "participants need one"),
        ({"completion_code": None}, "field completion_code: must be a text"),
        ({"title": ""}, "field title: must be a text of 1 to 200"),
        ({"texts": "x"}, "field texts: must be an object of texts"),
        ({"texts": {"consent": 5}}, "field texts: must be an object of texts"),
        ({"sitting": []}, "sitting: must be an object"),
        ({"sitting": {"brake": 1}}, "sitting.brake: not known"),
        ({"recruiting": {"repeats": 2}}, "recruiting.id_parameter: must be set"),
        ({"colour": "red"}, "field colour: not known; a new version can change title"),
    ],
)
def test_a_change_that_cannot_be_kept_is_refused_whole(
    study: Study, changes: dict[str, Any], fault: str
) -> None:
    before = Study.objects.filter(pk=study.pk).values().get()
    with pytest.raises(StudyError, match=fault):
        publish(study, changes, "Because.")
    assert Study.objects.filter(pk=study.pk).values().get() == before
    assert study.versions.count() == 1


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("subsets", 1, "make a new study from this one's export"),
        ("replications", 9, "add cycles with schedule"),
        ("conditions", [], "make a new study from this one's export"),
        ("claims", [{"id": "c1"}], "make a new study from this one's export"),
        ("seed", 8, "make a new study from this one's export"),
        ("order_policy", "interleaved", "make a new study from this one's export"),
        ("response_options", ["supported", "refuted", "cant_decide", "partially_supported"],
         "make a new study from this one's export"),
        ("shows_total", True, "make a new study from this one's export"),
        ("lang", "de", "make a new study from this one's export"),
        ("non_inferiority_margin", 0.2, "fixed before the data"),
        ("preregistered", {"time_cap_s": 5}, "fixed before the data"),
        ("blind", True, "an owner can unblind"),
    ],
)  # fmt: skip
def test_R051_what_is_frozen_for_good_is_refused_with_what_to_do_instead(
    study: Study, name: str, value: Any, instead: str
) -> None:
    """Publishing four subsets, pausing and publishing two left a study that nobody could read."""
    changing.pause_study(study)
    with pytest.raises(NotEditable, match=f"field {name}: frozen since the opening; .*{instead}"):
        publish(study, {name: value, "title": "Another"}, "Fewer people came.")
    after = reloaded(study)
    assert (after.n_subsets, after.version, after.title) == (2, 1, study.title)


def test_a_draft_and_a_closed_study_have_no_new_versions(study: Study) -> None:
    with pytest.raises(NotEditable, match="is a draft"):
        publish(factories.ready_study(), {"title": "T"}, "Why not.")
    changing.pause_study(study)
    publish(study, {"title": "While it is paused"}, "It may.")
    assert reloaded(study).state == StudyState.PAUSED
    changing.close_study(study)
    with pytest.raises(NotEditable, match="is closed"):
        publish(study, {"title": "T"}, "Too late.")
    assert study.versions.count() == 2


@pytest.mark.parametrize(
    ("reason", "fault"),
    [("  ", "say why"), ("x" * 2001, "at most 2000"), ("a\0b", "reason: ")],
)
def test_a_version_has_a_reason_that_can_be_printed(study: Study, reason: str, fault: str) -> None:
    with pytest.raises(StudyError, match=fault):
        publish(study, {"title": "T"}, reason)
    assert study.versions.count() == 1


def test_a_version_decided_on_an_older_one_is_refused(study: Study) -> None:
    publish(study, {"title": "Ann's"}, "Ann was first.", base=1)
    with pytest.raises(NotEditable, match="Version 2 was published meanwhile"):
        publish(study, {"title": "Bob's"}, "Bob came later.", base=1)
    assert reloaded(study).title == "Ann's"


def test_a_version_is_never_changed(study: Study) -> None:
    with pytest.raises((DatabaseError, IntegrityError)), transaction.atomic():
        StudyVersion.objects.filter(study=study).update(reason="Another.")
    assert study.versions.get().reason == ""


def test_one_person_a_condition_still_takes_part_once() -> None:
    study = factories.open_study(
        condition_policy="between", recruiting={"id_parameter": "PID"}, n_replications=2
    )
    with pytest.raises(StudyError, match=r"recruiting.repeats: must be 1"):
        publish(study, {"recruiting": {"repeats": 2}}, "More work.")


def test_the_links_that_were_given_out_keep_leading_back() -> None:
    study = factories.open_study(recruiting={"id_parameter": "PID"})
    for changed in ("workerId", "", None):
        with pytest.raises(StudyError, match="links that carry it have been given out"):
            publish(study, {"recruiting": {"id_parameter": changed}}, "Elsewhere.")
    publish(study, {"recruiting": {"repeats": 2}}, "Twice.")
    assert reloaded(study).recruiting == {"id_parameter": "PID", "repeats": 2}


# ---- who is shown which --------------------------------------------------------------------------


def test_a_run_has_the_values_of_its_version_wherever_it_is_loaded() -> None:
    study = factories.open_study(n_replications=3, sitting={"reason": "off"})
    enrolment, trial = factories.started(study)
    publish(
        study,
        {"title": "New", "lease_minutes": 7, "completion_code": "NEW",
         "sitting": {"confidence": "required"}},
        "All at once.",
    )  # fmt: skip
    later, next_trial = factories.started(study)
    assert (later.version, enrolment.version) == (2, 1)
    assert find_run(enrolment.token).slot.study.title == study.slug.replace("study", "Study study")
    assert find_run(enrolment.token).slot.study.completion_code != "NEW"
    assert find_run(later.token).slot.study.completion_code == "NEW"
    started = start_next_trial(enrolment.token)
    assert started is not None
    revealed = reveal_next(enrolment.token, trial.code, trial.n_steps)
    assert revealed.trial.enrolment.slot.study.lease_minutes == 120
    # The older run is not asked how sure it is; the newer one must say.
    record_decision(enrolment.token, trial.code, {"decision": "supported"})
    with pytest.raises(StudyError):
        record_decision(later.token, next_trial.code, {"decision": "supported"})


def test_a_run_that_takes_another_place_keeps_its_version() -> None:
    study = factories.open_study(n_replications=3)
    enrolment = factories.joined(study)
    Enrolment.objects.filter(pk=enrolment.pk).update(state=EnrolmentState.TIMED_OUT)
    publish(study, {"lease_minutes": 5}, "Shorter.")
    moved = move_to_free_slot(enrolment.token)
    assert moved.version == 1
    assert (moved.lease_until - moved.consented_at).total_seconds() > 100 * 60


def test_the_newest_version_costs_a_run_no_query_and_any_other_one(study: Study) -> None:
    enrolment, _ = factories.started(study)
    with CaptureQueriesContext(connection) as before:
        find_run(enrolment.token)
    publish(study, {"title": "New"}, "Another title.")
    with CaptureQueriesContext(connection) as after:
        find_run(enrolment.token)
    later = factories.joined(study)
    with CaptureQueriesContext(connection) as newest:
        find_run(later.token)
    assert (len(before), len(after), len(newest)) == (1, 2, 1)


def test_nobody_is_taken_to_have_agreed_to_a_text_they_were_not_shown(study: Study) -> None:
    old = consent_version(study)
    form = JoinForm("early", consent_version=old)
    publish(study, {"texts": {"welcome": "Hello."}}, "Friendlier.")
    assert join(study.code, form).version == 2
    late = JoinForm("late", consent_version=old)
    publish(study, {"texts": {"consent": "We also film you."}}, "Another ethics vote.")
    for stale in (late, JoinForm("nameless")):
        with pytest.raises(ConsentChanged):
            join(study.code, stale)
    assert join(study.code, form).version == 2  # sent once more: the run it has
    new = join(study.code, JoinForm("late", consent_version=consent_version(study)))
    assert (new.version, new.consent_version) == (3, consent_version(reloaded(study)))
    found = consent_records(study)
    assert [record.number for record in found.records] == [1, 2]
    assert found.texts[1].text == "We also film you."


def test_a_form_of_before_there_were_versions_joins_under_the_first(study: Study) -> None:
    assert join(study.code, JoinForm("nameless")).version == 1


def test_the_list_of_versions_says_what_changed_and_how_many_began_under_each() -> None:
    study = factories.open_study(n_replications=3)
    for _ in range(2):
        factories.joined(study)
    publish(study, {"title": "Second"}, "Two.")
    factories.joined(study)
    publish(study, {"title": "Third"}, "Three.")
    with CaptureQueriesContext(connection) as captured:
        rows = version_rows(study)
    assert len(captured) == 2
    assert [(r.version.number, r.version.reason, r.n_runs) for r in rows] == [
        (3, "Three.", 0),
        (2, "Two.", 1),
        (1, "", 2),
    ]
    assert [r.changes for r in rows] == [
        [Change("title", "Second", "Third")],
        [Change("title", f"Study {study.slug}", "Second")],
        [],
    ]


#: What the form of a version sends of recruiting where nothing was touched, by the source.
SPELT_OUT = {
    "prolific": {"id_parameter": "PROLIFIC_PID", "other_parameters": ["STUDY_ID", "SESSION_ID"]},
    "mturk": {
        "id_parameter": "workerId",
        "other_parameters": ["assignmentId", "hitId", "turkSubmitTo"],
    },
    "sona": {"id_parameter": "survey_code", "other_parameters": []},
}


@pytest.mark.parametrize("source", SPELT_OUT)
def test_what_the_source_fills_in_is_no_change_and_stays_out_of_what_is_stored(source: str) -> None:
    study = factories.open_study(recruiting={"source": source})
    whole = {"source": source, "repeats": 1, "extra_places": 0, "personal_links": "also"}
    sent = {"recruiting": whole | SPELT_OUT[source], "sitting": {"break_every": 0}}
    assert planned_changes(study, sent) == []
    with pytest.raises(StudyError, match="Nothing changes"):
        publish(study, sent, "Nothing.")
    publish(study, sent | {"title": "Better"}, "A title.")
    stored = reloaded(study)
    assert (stored.recruiting, stored.sitting) == ({"source": source}, {})
    assert [row.changes for row in version_rows(study)] == [
        [Change("title", f"Study {study.slug}", "Better")],
        [],
    ]


@pytest.mark.parametrize("source", SPELT_OUT)
def test_the_source_given_as_it_is_changes_nothing(source: str) -> None:
    study = factories.open_study(recruiting={"source": source})
    with pytest.raises(StudyError, match="Nothing changes"):
        publish(study, {"recruiting": {"source": source}}, "Nothing.")
    publish(study, {"recruiting": {"source": source, "extra_places": 2}}, "More places.")
    assert reloaded(study).recruiting == {"source": source, "extra_places": 2}


def test_another_source_is_told_with_the_parameters_it_brings(study: Study) -> None:
    told = [
        Change("recruiting.id_parameter", "", "survey_code"),
        Change("recruiting.source", "plain", "sona"),
    ]
    assert planned_changes(study, {"recruiting": {"source": "sona"}}) == told
    publish(study, {"recruiting": {"source": "sona", "id_parameter": "survey_code"}}, "SONA.")
    assert reloaded(study).recruiting == {"source": "sona"}
    with pytest.raises(StudyError, match="it stays as it is"):
        publish(study, {"recruiting": {"source": "mturk"}}, "Another site.")
