"""The commands on runs, slots and subsets: what they say, and how they refuse."""

from __future__ import annotations

import re

import pytest
from django.core.management import call_command

from studyapp.models import Enrolment, Slot, Study, Subset
from tests import factories
from tests.prolific_cast import arrive, connected_study, tell

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("command", "options", "state", "said"),
    [
        ("return_run", [], "returned", "returned; slot 1.1 is free again."),
        ("release_run", [], "timed_out", "released; slot 1.1 is free again."),
        ("reject_run", ["--reason", "copied"], "rejected", "rejected; slot 1.1 is free again."),
        ("pay_partial", [], "paid_partial", "paid in part; slot 1.1 is free again."),
    ],
)
def test_a_run_is_ended_and_the_end_undone(study, capsys, command, options, state, said):
    run = factories.joined(study)
    code = run.participant.code
    call_command(command, study.slug, code, *options)
    assert Enrolment.objects.get().state == state
    assert capsys.readouterr().out == f"{code}: {said}\n"
    call_command("restore_run", study.slug, code)
    assert Enrolment.objects.get().state == "consented"
    assert capsys.readouterr().out == f"{code}: reading the instructions again, in slot 1.1.\n"


def test_undoing_an_end_that_prolific_told_says_that_it_will_not_last(capsys):
    study = connected_study()
    run = arrive(study, "p1", "s1")
    tell(study, "s1", "p1", "returned")
    call_command("restore_run", study.slug, run.participant.code)
    assert capsys.readouterr().out == (
        f"{run.participant.code}: reading the instructions again, in slot 1.1.\n"
        "Prolific says RETURNED of the submission. Once it says so again, at the latest when its "
        "list is read, the run is ended again: undoing its end lasts only if Prolific changes "
        "that.\n"
    )


def test_notes_are_kept(study):
    run = factories.joined(study)
    call_command("pay_partial", study.slug, run.participant.code, note="half of the time")
    assert Enrolment.objects.get().end_note == "half of the time"
    call_command("restore_run", study.slug, run.participant.code)
    assert Enrolment.objects.get().end_note == ""
    call_command("reject_run", study.slug, run.participant.code, reason="copied")
    assert Enrolment.objects.get().end_note == "copied"


def test_a_place_is_held_longer(study, capsys):
    run = factories.joined(study)
    call_command("extend_run", study.slug, run.participant.code, minutes=600)
    longer = Enrolment.objects.get().lease_until
    assert longer > run.lease_until
    assert f"place held until {longer:%Y-%m-%d %H:%M} UTC." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["return_run", "SLUG", "nobody"], "participant 'nobody': has no run under way here."),
        (["release_run", "SLUG", "nobody"], "participant 'nobody': holds no place here."),
        (["reject_run", "SLUG", "nobody", "--reason", "x"], "has no run that can be rejected"),
        (["reject_run", "SLUG", "nobody", "--reason", " "], "a rejection needs a reason"),
        (["pay_partial", "SLUG", "nobody"], "has no run that is unfinished"),
        (["extend_run", "SLUG", "nobody", "--minutes", "0"], "minutes: must be a number from 1"),
        (["extend_run", "SLUG", "nobody", "--minutes", "9"], "holds no place here"),
        (["restore_run", "SLUG", "nobody"], "has no run whose end can be undone"),
        (["close_slot", "SLUG", "1.9"], "slot 1.9: the schedule of this study has none."),
        (["close_slot", "SLUG", "9" * 40], "the schedule of this study has none."),
        (["close_slot", "SLUG", "one"], "slot 'one': write it as 2.3, or 2 for every slot"),
        (["close_slot", "SLUG", "1.1.1"], "slot '1.1.1': write it as 2.3"),
        (["close_slot", "SLUG", "1.1", "--reopen"], "slot 1.1: not closed."),
        (["close_subset", "SLUG", "0"], "subset 0: the schedule of this study has none."),
        (["close_subset", "SLUG", "9" * 40], "the schedule of this study has none."),
        (["close_subset", "SLUG", "1", "--reopen"], "subset 1: not closed."),
        (["close_slot", "none-such", "1.1"], "no study 'none-such'"),
    ],
)
def test_what_is_refused_is_said_in_one_line(study: Study, capsys, arguments, said):
    with pytest.raises(SystemExit) as ended:
        call_command(*[study.slug if word == "SLUG" else word for word in arguments])
    assert ended.value.code == 1
    captured = capsys.readouterr()
    assert said in captured.err
    assert (captured.out, captured.err.count("\n")) == ("", 1)


def test_slots_are_closed_and_opened_again(study, capsys):
    def closed() -> list[str]:
        return [str(slot) for slot in Slot.objects.filter(closed_at__isnull=False)]

    call_command("close_slot", study.slug, "1.2")
    assert closed() == ["1.2"]
    call_command("close_slot", study.slug, "1")
    assert closed() == ["1.1", "1.2"]
    call_command("close_slot", study.slug, "1", reopen=True)
    assert closed() == []
    assert capsys.readouterr().out.splitlines() == [
        f"{study.slug}: 1 slot closed: runs under way go on.",
        f"{study.slug}: 1 slot closed: runs under way go on.",
        f"{study.slug}: 2 slots open again.",
    ]


def test_a_subset_is_closed_and_opened_again(study, capsys):
    call_command("close_subset", study.slug, 2)
    assert list(Subset.objects.exclude(closed_at=None).values_list("number", flat=True)) == [2]
    call_command("close_subset", study.slug, 2, reopen=True)
    assert not Subset.objects.exclude(closed_at=None).exists()
    out = capsys.readouterr().out
    assert re.findall(r"subset 2 is (\w+)", out) == ["closed", "open"]


def test_a_study_is_paused_resumed_and_closed(study, capsys):
    for command, state in (("pause_study", "paused"), ("resume_study", "open")):
        call_command(command, study.slug)
        assert Study.objects.get(pk=study.pk).state == state
    with pytest.raises(SystemExit):
        call_command("close_study", study.slug)
    assert "closing is for good; every answer is kept: say --yes." in capsys.readouterr().err
    call_command("close_study", study.slug, "--yes")
    assert Study.objects.get(pk=study.pk).state == "closed"
    with pytest.raises(SystemExit):
        call_command("resume_study", study.slug)
    assert "cannot become open from its present state" in capsys.readouterr().err
