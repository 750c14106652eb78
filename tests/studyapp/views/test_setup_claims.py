"""Setting up: claims from a file, what is said about a bad one, and the limit on its size."""

from __future__ import annotations

import csv
import io
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from studyapp.domain import schedule, uploads
from studyapp.models import Claim, Ranking, Selection, Study
from tests import factories
from tests.studyapp.views.setup_pages import (
    claim,
    claims_file,
    client_of,
    researcher,
    upload,
    url,
    words,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return client_of()


@pytest.fixture
def draft(tmp_path: Path, settings: Any) -> Study:
    settings.DATA_DIR = tmp_path
    return factories.draft_study("bridges", owner=researcher())


def ids(study: Study) -> list[str]:
    return list(
        Claim.objects.filter(study=study).order_by("position").values_list("claim_id", flat=True)
    )


def n_waiting(study: Study) -> int:
    return len(uploads.waiting_files(study))


def refused(client: Client, study: Study, file: Any, **fields: str) -> str:
    """Upload a file that is refused with a report, and read it."""
    response = upload(client, study, file, **fields)
    assert response.status_code == 303, words(response)
    assert "/claims/files/" in response["Location"]
    assert ids(study) == []
    return words(client.get(response["Location"]))


# ---- good files ----------------------------------------------------------------------------------


def test_a_good_file_is_imported_at_once_and_counted(client: Client, draft: Study) -> None:
    response = upload(client, draft, claims_file([claim(n) for n in (1, 2, 3)]))
    assert (response.status_code, response["Location"]) == (303, url(draft, "claims"))
    said = words(client.get(response["Location"]))
    assert "3 claims imported." in said
    assert "Main Supported 2 1 sentence: 1 claim, 2 sentences: 1 claim 3.0" in said
    assert "Main Refuted 1 2 sentences: 1 claim 3.0" in said
    assert ids(draft) == ["w1", "w2", "w3"]
    assert n_waiting(draft) == 0


@pytest.mark.parametrize("role", ["practice", "attention"])
def test_claims_for_other_trials_keep_their_role(client: Client, draft: Study, role: str) -> None:
    upload(client, draft, claims_file([claim(1)]), role=role)
    assert list(Claim.objects.values_list("claim_id", "role")) == [("w1", role)]


CSV_ROWS = (
    "claim_id,claim,label,candidate,gold_sets\r\n"
    "001,NA,supported,null,0\r\n"
    "001,NA,supported,None,\r\n"
)


@pytest.mark.parametrize("content", [CSV_ROWS, "\ufeff" + CSV_ROWS, CSV_ROWS.replace("\r", "")])
def test_R065_R067_csv_with_bom_and_crlf_keeps_texts_that_look_like_nothing(
    client: Client, draft: Study, content: str
) -> None:
    upload(client, draft, SimpleUploadedFile("claims.csv", content.encode()))
    stored = Claim.objects.get()
    assert (stored.claim_id, stored.text) == ("001", "NA")
    assert [one.text for one in stored.candidates.order_by("position")] == ["null", "None"]


def test_R067_a_label_none_is_refused_as_a_text_not_taken_for_nothing(
    client: Client, draft: Study
) -> None:
    said = refused(client, draft, claims_file([claim(1, label="None")]))
    assert "1 w1 label unknown label 'None'" in said or "label unknown label 'None'" in said


# ---- bad files -----------------------------------------------------------------------------------


def test_R069_the_same_file_twice_adds_nothing_and_says_so(client: Client, draft: Study) -> None:
    claims = [claim(1), claim(2)]
    upload(client, draft, claims_file(claims))
    again = upload(client, draft, claims_file(claims))
    said = words(client.get(again["Location"]))
    assert "0 claims imported. 2 claims skipped: already there, word for word." in said
    assert ids(draft) == ["w1", "w2"]


def test_R069_two_rows_of_one_id_are_refused_naming_both_lines(
    client: Client, draft: Study
) -> None:
    said = refused(client, draft, claims_file([claim(1), claim(1, claim="Another text.")]))
    assert "2 – id duplicate id 'w1', first on line 1" in said


def test_another_content_under_a_stored_id_refuses_the_file_also_when_skipping(
    client: Client, draft: Study
) -> None:
    upload(client, draft, claims_file([claim(1)]))
    response = upload(client, draft, claims_file([claim(1, claim="Other."), claim(2)]))
    report = response["Location"]
    said = words(client.get(report))
    assert "'w1' is in the study already with other content; give the new claim another id" in said
    assert "Import the good claims only" not in said
    assert client.post(report, {"do": "skip"}).status_code == 422
    assert ids(draft) == ["w1"]


def test_R071_a_gold_index_out_of_range_and_an_empty_gold_set_are_named(
    client: Client, draft: Study
) -> None:
    said = refused(
        client, draft, claims_file([claim(1, gold_sets=[[9]]), claim(2, gold_sets=[[]])])
    )
    assert "1 – gold_sets[0] index 9 is out of range" in said
    assert "2 – gold_sets[0] empty" in said
    assert "holds no good claim" in said


def test_R063_another_encoding_is_named_by_line_and_blank_lines_count(
    client: Client, draft: Study
) -> None:
    good = json.dumps(claim(1)).encode()
    chinese = json.dumps(claim(2, claim="灯塔很旧"), ensure_ascii=False).encode("gb2312")
    file = SimpleUploadedFile("claims.jsonl", b"\n".join([good, b"", chinese]) + b"\n")
    said = refused(client, draft, file)
    assert "3 – – not UTF-8" in said


def test_R075_a_nul_in_a_text_is_refused_by_line(client: Client, draft: Study) -> None:
    said = refused(client, draft, claims_file([claim(1), claim(2, claim="text\0more")]))
    assert "2 – claim" in said
    assert "U+0000" in said


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("claims.jsonl", b"", "no claim to import"),
        ("claims.csv", b"id,text\n1,a\n", "claim_id"),
        ("claims.jsonl", b"not json\n", "not JSON"),
        ("claims.jsonl", b"[]\n", "object"),
        ("claims.jsonl", b"\x00\x01\x02\xff\n", ""),
    ],
)
def test_files_of_all_kinds_are_answered_with_words(
    client: Client, draft: Study, name: str, content: bytes, said: str
) -> None:
    response = upload(client, draft, SimpleUploadedFile(name, content))
    if response.status_code == 303:
        response = client.get(response["Location"])
    assert response.status_code in (200, 422)
    assert said in words(response)
    assert ids(draft) == []


def test_no_file_is_said_beside_the_field(client: Client, draft: Study) -> None:
    response = client.post(url(draft, "claims"), {"format": "csv", "role": "main"})
    assert response.status_code == 422
    assert "Choose a file." in words(response)


def test_a_file_with_many_faults_lists_two_hundred_and_offers_all(
    client: Client, draft: Study
) -> None:
    rows = [claim(0), *(claim(n, label="maybe") for n in range(1, 251))]
    report = upload(client, draft, claims_file(rows, "many.jsonl"))["Location"]
    page = client.get(report)
    said = words(page)
    assert "250 claims with faults and 1 good claim." in said
    assert page.content.decode().count("unknown label") == 200
    assert "50 further problems are in the file of problems." in said
    answer = client.get(report + "problems.csv")
    table = list(csv.reader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert table[0] == ["line", "claim_id", "field", "problem"]
    assert [row[0] for row in table[1:]] == [str(n) for n in range(2, 252)]


# ---- the second step -----------------------------------------------------------------------------


def test_the_good_claims_are_imported_only_when_asked_for(client: Client, draft: Study) -> None:
    report = upload(client, draft, claims_file([claim(1), claim(2, claim=""), claim(3)]))[
        "Location"
    ]
    said = words(client.get(report))
    assert "2 claims will be imported, and 1 claim with faults left out." in said
    assert ids(draft) == []
    answer = client.post(report, {"do": "skip"})
    assert "2 claims imported." in words(client.get(answer["Location"]))
    assert ids(draft) == ["w1", "w3"]
    assert client.get(report).status_code == 404
    assert client.post(report, {"do": "skip"}).status_code == 404
    assert ids(draft) == ["w1", "w3"]


def test_a_refused_file_waits_on_the_claims_page_until_it_is_thrown_away(
    client: Client, draft: Study
) -> None:
    report = upload(client, draft, claims_file([claim(1, claim="")], "odd name.jsonl"))["Location"]
    assert "odd_name.jsonl waits for your decision" in words(client.get(url(draft, "claims")))
    client.post(report, {"do": "discard"})
    assert n_waiting(draft) == 0
    assert list(Path(settings.DATA_DIR).rglob("odd*")) == []


def test_a_refused_file_is_thrown_away_after_a_day(client: Client, draft: Study) -> None:
    upload(client, draft, claims_file([claim(1, claim="")]))
    folder = next((Path(settings.DATA_DIR) / "uploads").glob("*/*"))
    os.utime(folder, (time.time(), time.time() - uploads.KEPT_SECONDS - 1))
    uploads.throw_away_old()
    assert n_waiting(draft) == 0


def test_a_waiting_file_belongs_to_one_study(client: Client, draft: Study) -> None:
    report = upload(client, draft, claims_file([claim(1), claim(2, claim="")]))["Location"]
    other = factories.draft_study("other", owner=researcher())
    token = report.rstrip("/").rsplit("/", 1)[1]
    assert client.get(url(other, "claims-report", token)).status_code == 404
    assert client_of("bob").get(report).status_code == 404
    for odd in ("x" * 20, "0", "a-b_c"):
        assert client.get(url(draft, "claims-report", odd)).status_code == 404


@pytest.mark.parametrize("name", ["report.json", "problems.csv", "../../etc/passwd", "..", "a/b"])
def test_no_file_name_gets_out_of_its_folder(tmp_path: Path, settings: Any, name: str) -> None:
    settings.DATA_DIR = tmp_path / "data"
    study = factories.draft_study()
    file = uploads.take_file(study, name, [b"{}\n"], "interchange", "main")
    assert isinstance(file, uploads.WaitingFile)
    assert uploads.waiting_file(study, file.token) == file
    assert {path.name for path in tmp_path.iterdir()} == {"data"}


def test_skipping_after_a_schedule_was_made_is_refused(client: Client, draft: Study) -> None:
    report = upload(client, draft, claims_file([claim(1), claim(2, claim="")]))["Location"]
    factories.add_claims(draft, 4)
    factories.add_conditions(draft)
    schedule.lay_out(draft, 2, 1, 1)
    response = client.post(report, {"do": "skip"})
    assert response.status_code == 409
    assert "has a schedule already" in words(response)
    assert "w1" not in ids(draft)


# ---- taking claims out ---------------------------------------------------------------------------


def test_all_claims_are_deleted_once_the_short_name_is_typed(client: Client, draft: Study) -> None:
    factories.add_claims(draft, 3)
    factories.add_conditions(draft)
    factories.add_evidence(draft)
    assert "Deletes 3 claims and 6 stored rankings of them, for good." in words(
        client.get(url(draft, "claims"))
    )
    wrong = client.post(url(draft, "claims-remove"), {"slug": "bridge"})
    assert wrong.status_code == 422
    assert "Nothing was deleted: type the study's short name, bridges." in words(wrong)
    assert len(ids(draft)) == 3
    client.post(url(draft, "claims-remove"), {"slug": "bridges"})
    assert (ids(draft), Ranking.objects.count(), Selection.objects.count()) == ([], 0, 0)


def test_the_claims_of_a_schedule_stay(client: Client) -> None:
    study = factories.ready_study(owner=researcher())
    said = words(client.get(url(study, "claims")))
    assert "so the claims of its trials stay as they are" in said
    assert "Delete all claims" not in said
    assert client.post(url(study, "claims-remove"), {"slug": study.slug}).status_code == 409
    assert upload(client, study, claims_file([claim(1)])).status_code == 409
    assert len(ids(study)) == 4


# ---- size ----------------------------------------------------------------------------------------


def test_R077_a_file_of_600_mb_is_refused_unread_with_the_limit(
    client: Client, draft: Study
) -> None:
    class NeverRead(io.RawIOBase):
        """A body that nobody may ask for."""

        def read(self, *_: Any) -> bytes:
            raise AssertionError("the upload was read")

    response = client.generic(
        "POST",
        url(draft, "claims"),
        b"",
        content_type="multipart/form-data; boundary=x",
        CONTENT_LENGTH="600000000",
        **{"wsgi.input": NeverRead()},
    )
    assert response.status_code == 413
    assert "You sent 600 MB. At most 200 MB can be uploaded here at once." in words(response)
    assert ids(draft) == []


@pytest.mark.parametrize("length", ["-5", "many", "9" * 5000, "٣"])
def test_a_length_that_is_none_is_refused_like_one_too_large(
    client: Client, draft: Study, length: str
) -> None:
    response = client.generic("POST", url(draft, "claims"), b"", CONTENT_LENGTH=length)
    assert response.status_code == 413


def test_the_limit_is_the_installations(client: Client, draft: Study, settings: Any) -> None:
    settings.MAX_UPLOAD_MB = 1
    assert "At most 1 MB, in UTF-8." in words(client.get(url(draft, "claims")))
    rows = [claim(1, candidates=["x" * 700_000, "y" * 700_000], gold_sets=[[0]], titles=None)]
    response = upload(client, draft, claims_file(rows))
    assert response.status_code == 413
    assert "At most 1 MB" in words(response)


def test_a_file_of_several_megabytes_is_imported(client: Client, draft: Study) -> None:
    rows = [
        claim(n, candidates=["x" * 900_000], gold_sets=[[0]], titles=None) for n in (1, 2, 3, 4)
    ]
    upload(client, draft, claims_file(rows))
    assert ids(draft) == ["w1", "w2", "w3", "w4"]


# ---- remarks -------------------------------------------------------------------------------------


def reduced(number: int) -> dict[str, Any]:
    """A good claim with a remark: its second gold set holds the first."""
    return claim(number, gold_sets=[[0], [0, 1]])


def test_remarks_of_an_import_are_listed_on_the_page_that_follows(
    client: Client, draft: Study
) -> None:
    response = upload(client, draft, claims_file([reduced(1), claim(2), reduced(3)]))
    assert response.status_code == 303
    assert response["Location"].startswith(url(draft, "claims") + "remarks/")
    said = words(client.get(response["Location"]))
    assert "3 claims imported." in said
    assert "2 remarks on claims.jsonl" in said
    assert "claims.jsonl, line 1" in said
    assert "claims.jsonl, line 3" in said
    assert "claims.jsonl, line 2" not in said
    assert n_waiting(draft) == 0


def test_remarks_beyond_the_first_ones_are_counted(
    client: Client, draft: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MAX_SHOWN", 2)
    response = upload(client, draft, claims_file([reduced(n) for n in range(1, 6)]))
    said = words(client.get(response["Location"]))
    assert "5 remarks on claims.jsonl" in said
    assert said.count("claims.jsonl, line ") == 2
    assert "3 further remarks are not listed here" in said


def test_remarks_of_the_good_claims_of_a_bad_file_are_listed_too(
    client: Client, draft: Study
) -> None:
    report = upload(client, draft, claims_file([reduced(1), claim(2, claim="")]))["Location"]
    response = client.post(report, {"do": "skip"})
    assert "/claims/remarks/" in response["Location"]
    assert "1 remark on claims.jsonl" in words(client.get(response["Location"]))


def test_remarks_are_gone_after_a_day_and_no_other_studys(client: Client, draft: Study) -> None:
    page = upload(client, draft, claims_file([reduced(1)]))["Location"]
    other = factories.draft_study(owner=researcher())
    token = page.rstrip("/").rpartition("/")[2]
    assert client.get(url(other, "claims-notices", token)).status_code == 404
    old = time.time() - uploads.KEPT_SECONDS - 1
    os.utime(settings.DATA_DIR / "uploads" / str(draft.pk) / token, (old, old))
    uploads.throw_away_old()
    assert client.get(page).status_code == 404
