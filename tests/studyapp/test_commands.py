"""What commands say when they are used out of order or with odd values."""

from __future__ import annotations

import csv
import re
import subprocess
import sys

import pytest
from django.core.management import call_command

from studyapp.management.base import READER_GONE
from studyapp.models import Claim, Slot
from tests import factories
from tests.flows.site import Site
from tests.shared_data import ROOT


@pytest.mark.django_db
@pytest.mark.parametrize("option", ["subsets", "replications"])
def test_a_schedule_of_none_is_refused_also_when_one_exists(option, capsys):
    study = factories.ready_study()
    with pytest.raises(SystemExit) as ended:
        call_command("schedule", study.slug, **{option: 0})
    assert ended.value.code == 1
    assert f"--{option}" in capsys.readouterr().err
    assert Slot.objects.filter(study=study).count() == 2


@pytest.mark.django_db
def test_a_csv_file_is_known_by_its_ending(tmp_path):
    study = factories.draft_study()
    file = tmp_path / "claims.CSV"
    with file.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["claim_id", "claim", "label", "candidate", "gold_sets"])
        writer.writerow(["001", "A claim.", "supported", "A sentence.", "1"])
    call_command("import_claims", study.slug, str(file))
    assert Claim.objects.get(study=study).claim_id == "001"


def test_a_command_before_migrate_says_what_to_do(tmp_path):
    site = Site.__new__(Site)
    site.environment = {"SUFFICE_DATA_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    refused = site.manage("open_study", "any", status=1)
    assert "run migrate first" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("at_once", [True, False])
def test_a_command_whose_reader_has_enough_ends_without_a_word(tmp_path, at_once):
    """As in ``manage.py audit_log | head -1``, once the reader has gone; also where everything
    is written only at the end."""
    site = Site(tmp_path)
    site.manage("create_study", "reader", "--title", "Read in part")
    command = subprocess.Popen(
        [sys.executable, "manage.py", "audit_log"],
        cwd=ROOT,
        env=site.environment | {"PYTHONUNBUFFERED": "1" if at_once else ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert command.stdout
    assert command.stderr
    command.stdout.close()
    said = command.stderr.read()
    assert (command.wait(), said) == (READER_GONE, b"")


def test_one_of_a_thing_is_not_called_many(db, capsys):
    study = factories.open_study(2)
    run = factories.joined(study)
    call_command("schedule", study.slug)
    said = capsys.readouterr().out
    assert said.startswith(f"{study.slug}: ")
    assert "ranking: 2 claims seen exactly once" in said
    assert "ranking: first in 1 slot, " in said
    assert not re.search(r"\b1 (slots|trials|claims|places|runs)\b", said)
    call_command("delete_participant", study.slug, run.participant.code, yes=True)
    assert "1 participant with 1 run and" in capsys.readouterr().out
