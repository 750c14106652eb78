"""Claims are imported whole or not at all, and every problem names line, field and fix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from studyapp.domain import importing, lifecycle
from studyapp.domain.importing import import_claims
from studyapp.errors import BadUpload, NotEditable, StudyError
from studyapp.models import Candidate, Claim, GoldSet
from tests import factories
from tests.shared_data import DATA, needs_data

pytestmark = pytest.mark.django_db


def row(number: int, **changes) -> dict:
    return {
        "id": f"{number:03d}",
        "claim": f"Claim {number}.",
        "label": "supported",
        "candidates": ["Same text.", "Same text.", "Third."],
        "gold_sets": [[0, 2]],
    } | changes


def write(path, rows, newline="\n"):
    path.write_bytes(newline.join(json.dumps(r) for r in rows).encode() + newline.encode())
    return path


def test_a_good_file_becomes_claims_candidates_and_gold_sets(tmp_path):
    study = factories.draft_study()
    file = write(
        tmp_path / "claims.jsonl",
        [
            row(1, titles=["A", None, "B"], source="S", license="L", lang="de", meta={"k": 1}),
            row(2),
        ],
    )
    report = import_claims(study, file)
    assert report.n_imported == 2
    first, second = Claim.objects.filter(study=study)
    assert (first.claim_id, first.lang, first.source, first.license) == ("001", "de", "S", "L")
    assert first.meta == {"k": 1}
    assert (first.n_candidates, first.gold_min_size) == (3, 2)
    assert list(first.candidates.values_list("position", "text", "title")) == [
        (0, "Same text.", "A"),
        (1, "Same text.", None),
        (2, "Third.", "B"),
    ]
    assert list(second.gold_sets.values_list("members", flat=True)) == [[0, 2]]
    assert second.source is None


def test_texts_that_look_like_missing_values_stay_texts(tmp_path):
    study = factories.draft_study()
    rows = [row(1, id="NA", claim="None", candidates=["null", "nan", "001"])]
    import_claims(study, write(tmp_path / "claims.jsonl", rows))
    claim = Claim.objects.get()
    assert (claim.claim_id, claim.text) == ("NA", "None")
    assert list(claim.candidates.values_list("text", flat=True)) == ["null", "nan", "001"]


def test_the_same_file_twice_adds_nothing_the_second_time(tmp_path):
    study = factories.draft_study()
    file = write(tmp_path / "claims.jsonl", [row(1), row(2)])
    import_claims(study, file)
    report = import_claims(study, file)
    assert (report.n_imported, report.n_repeated) == (0, 2)
    assert Claim.objects.count() == 2


def test_the_same_id_with_other_content_refuses_the_file(tmp_path):
    study = factories.draft_study()
    import_claims(study, write(tmp_path / "a.jsonl", [row(1)]))
    with pytest.raises(BadUpload, match=r"line 2, field id: '001'"):
        import_claims(study, write(tmp_path / "b.jsonl", [row(3), row(1, claim="Other.")]))
    assert Claim.objects.count() == 1


BAD_ROWS = {
    "unknown label": (row(2, label="maybe"), "label"),
    "empty claim": (row(2, claim="  "), "claim"),
    "empty candidate": (row(2, candidates=["a", "", "b"]), "candidates"),
    "no candidates": (row(2, candidates=[], gold_sets=[]), "candidates"),
    "gold index out of range": (row(2, gold_sets=[[3]]), "gold_sets"),
    "negative gold index": (row(2, gold_sets=[[-1]]), "gold_sets"),
    "gold index that is a boolean": (row(2, gold_sets=[[True]]), "gold_sets"),
    "empty gold set": (row(2, gold_sets=[[0], []]), "gold_sets"),
    "no gold set": (row(2, gold_sets=[]), "gold_sets"),
    "duplicate id": (row(1, claim="Another."), "id"),
    "id too long for a study": (row(2, id="x" * 201), "id"),
    "lang too long for a study": (row(2, lang="x" * 21), "lang"),
    "meta nested too deeply": (row(2, meta={"a": json.loads("[" * 150 + "]" * 150)}), "meta"),
    "zero byte": (row(2, candidates=["a\0", "b", "c"]), "candidates"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_a_bad_row_refuses_the_whole_file_and_names_line_and_field(tmp_path, name):
    bad, field = BAD_ROWS[name]
    study = factories.draft_study()
    file = write(tmp_path / "claims.jsonl", [row(1), bad, row(3)])
    with pytest.raises(BadUpload) as caught:
        import_claims(study, file)
    assert any("line 2" in p and field in p for p in caught.value.problems), caught.value.problems
    assert not Claim.objects.exists()
    assert not Candidate.objects.exists()
    assert not GoldSet.objects.exists()


def test_the_bad_rows_can_be_skipped_knowingly(tmp_path):
    study = factories.draft_study()
    file = write(tmp_path / "claims.jsonl", [row(1), row(2, label="maybe"), row(3)])
    report = import_claims(study, file, skip_invalid=True)
    assert report.n_imported == 2
    assert len(report.skipped) == 1
    assert "line 2" in report.skipped[0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no claim"),
        ('{"id": "é"}\n'.encode("latin-1"), "UTF-8"),
        (json.dumps(row(1)).encode()[:-20], "JSON"),
        (b'{"id": "a", "claim": "' + b"x" * 10_000_000 + b'"}\n', "5,000,000 bytes"),
        (b"[1, 2]\n", "object"),
    ],
)
def test_a_file_that_is_no_claims_file_is_refused_clearly(tmp_path, content, words):
    study = factories.draft_study()
    file = tmp_path / "claims.jsonl"
    file.write_bytes(content)
    with pytest.raises(BadUpload, match=words):
        import_claims(study, file)
    assert not Claim.objects.exists()


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(BadUpload, match="No such file"):
        import_claims(factories.draft_study(), tmp_path / "nothing.jsonl")


def test_bom_crlf_and_blank_lines_are_tolerated(tmp_path):
    study = factories.draft_study()
    lines = [json.dumps(row(1)), "", json.dumps(row(2)), "   ", ""]
    (tmp_path / "claims.jsonl").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    assert import_claims(study, tmp_path / "claims.jsonl").n_imported == 2


def test_gold_sets_are_reduced_to_the_minimal_ones_with_a_notice(tmp_path):
    study = factories.draft_study()
    file = write(tmp_path / "claims.jsonl", [row(1, gold_sets=[[0], [0, 1], [2], [2]])])
    report = import_claims(study, file)
    assert list(GoldSet.objects.values_list("members", flat=True)) == [[0], [2]]
    assert any("line 1" in notice for notice in report.notices)


def test_a_limit_takes_the_first_good_claims(tmp_path):
    study = factories.draft_study()
    file = write(tmp_path / "claims.jsonl", [row(1), row(2), row(3, label="maybe")])
    assert import_claims(study, file, limit=2).n_imported == 2


def test_an_open_study_takes_no_more_claims(tmp_path, study):
    with pytest.raises(NotEditable):
        import_claims(study, write(tmp_path / "claims.jsonl", [row(9)]))


@needs_data
@pytest.mark.parametrize(
    ("name", "format_name", "n_claims"),
    [
        ("wice_open.jsonl", "interchange", 139),
        ("original/wice_sample.jsonl", "wice", 26),
        ("original/evidence_ranking_official_sample.json", "official", 20),
    ],
)
def test_real_files_are_imported(name, format_name, n_claims):
    study = factories.draft_study()
    assert import_claims(study, DATA / name, format_name).n_imported == n_claims
    claim = Claim.objects.filter(study=study).first()
    assert claim.candidates.count() == claim.n_candidates


@pytest.mark.parametrize("meanwhile", ["opened", "others"])
def test_what_changes_while_a_file_is_read_is_seen_under_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    study = factories.ready_study() if meanwhile == "opened" else factories.draft_study()
    file = tmp_path / "claims.jsonl"
    file.write_text(
        '{"id": "new", "claim": "A", "label": "supported", "candidates": ["a"], '
        '"gold_sets": [[0]]}\n',
        encoding="utf-8",
    )
    check = importing._check_file

    def slow_check(*args: Any) -> None:
        check(*args)
        if meanwhile == "opened":
            lifecycle.open_study(study)
        else:
            factories.add_claims(study, 1)

    monkeypatch.setattr(importing, "_check_file", slow_check)
    said = "its claims are frozen" if meanwhile == "opened" else "changed during the import"
    with pytest.raises(StudyError, match=said):
        import_claims(study, file, role="practice")
    assert not study.claims.filter(claim_id="new").exists()
