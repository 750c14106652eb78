"""Names for personal links: read from a file or typed, and every fault named."""

from __future__ import annotations

import pytest

from studyapp.domain.link_names import (
    MAX_NAMES,
    NewLink,
    read_csv_names,
    read_typed_names,
)
from studyapp.enums import RunKind
from studyapp.errors import BadUpload


def problems_of(data: bytes | str, **options: str) -> list[str]:
    content = data.encode() if isinstance(data, str) else data
    with pytest.raises(BadUpload) as caught:
        read_csv_names(content, "p.csv", **options)
    return caught.value.problems


def test_names_and_kinds_are_read_with_the_lines_they_stand_on():
    text = '\ufeffname,kind\r\nAnn Lee,\r\n\r\n"Voss, Karla",pilot\r\n Bo , REAL \r\n'
    assert read_csv_names(text.encode(), "p.csv") == [
        NewLink(2, "Ann Lee", "real"),
        NewLink(4, "Voss, Karla", "pilot"),
        NewLink(5, "Bo", "real"),
    ]


def test_a_column_of_names_alone_takes_the_kind_that_was_asked_for():
    assert read_csv_names(b"Name\nAnn\nBo", "p.csv", RunKind.PILOT) == [
        NewLink(2, "Ann", "pilot"),
        NewLink(3, "Bo", "pilot"),
    ]


def test_typed_names_stand_one_a_line():
    assert read_typed_names("Ann, the first\r\n\r\n  Bo\rCy") == [
        NewLink(1, "Ann, the first", "real"),
        NewLink(3, "Bo", "real"),
        NewLink(4, "Cy", "real"),
    ]


def test_every_fault_is_named_with_line_field_and_what_to_do():
    text = f"name,kind\nAnn,real\n,pilot\nAnn,\nBo,staff\n{'x' * 201},\nA\x07b,\nCy,real,x\n"
    assert problems_of(text) == [
        "p.csv, line 5, field kind: must be real or pilot, or empty.",
        "p.csv, line 8: 3 fields where the first line has 2; put a name with a comma in double "
        "quotes.",
        "p.csv, line 3, field name: is empty; write a name or take the line out.",
        "p.csv, line 4, field name: 'Ann' is on line 2 already; add something that tells the two "
        "apart.",
        "p.csv, line 6, field name: has 201 characters; the most is 200.",
        "p.csv, line 7, field name: has a sign that cannot be read or printed; type the name "
        "again.",
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "p.csv, line 1: the first line must be name, or name,kind."),
        (b"Ann\nBo\n", "p.csv, line 1: the first line must be name, or name,kind."),
        (b"name;kind\nAnn;\n", "p.csv, line 1: the first line must be name, or name,kind."),
        (b"name\n\n", "p.csv: there is no name in it."),
        (b"name\nAnn\nJos\xe9\n", "p.csv, line 3: not UTF-8; save the file as UTF-8."),
        (
            b'name\nAnn\n"Bo\nCy\n',
            "p.csv, line 3: cannot be read as CSV; look for a double quote that is not closed.",
        ),
        (b"name\nA\x00b\n", "p.csv, line 2, field name: has a sign that cannot be read or "
         "printed; type the name again."),
        (b"x" * 5_000_001, "p.csv: the file has more than 5 MB."),
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_refused_whole(data: bytes, said: str):
    assert problems_of(data) == [said]


def test_many_problems_are_cut_and_counted():
    problems = problems_of("name,kind\n" + "\n".join(f"p{n},x" for n in range(60)))
    assert (len(problems), problems[-1]) == (51, "… and 10 further problems.")


def test_more_names_than_a_study_could_want_are_refused():
    text = "\n".join(f"p{n}" for n in range(MAX_NAMES + 1))
    with pytest.raises(BadUpload, match="10,001 names; take at most 10,000 at a time"):
        read_typed_names(text)
