"""Exports whose files unpack to more than they can mean are refused before they are read."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from analysis import BadTable, members, read_export
from tests.analysis.builders import events, study, trial, trials

MB = 1024**2


def written(folder: Path, name: str = "", n_more: int = 0, method: int = 8) -> Path:
    """A small export as a zip, with ``n_more`` megabytes of spaces after the file ``name``."""
    path = folder / "small.zip"
    content = {
        "trials.csv": trials(trial()).to_csv(index=False),
        "events.csv": events().to_csv(index=False),
        "study.json": json.dumps(study()),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, text in content.items():
            if each == name:
                archive.writestr(each, text + " " * (n_more * MB), method)
            else:
                archive.writestr(each, text)
    return path


def refusal(path: Path) -> list[str]:
    with pytest.raises(BadTable) as caught:
        read_export(path)
    return caught.value.problems


@pytest.mark.parametrize("name", ["trials.csv", "events.csv", "study.json"])
def test_a_file_beyond_its_limit_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = written(tmp_path, name, 1)
    monkeypatch.setattr(members, "LIMITS", {"study.json": 4 * MB, "events.csv": 4 * MB})
    monkeypatch.setattr(members, "MOST", 4 * MB)
    assert read_export(path).trials["trial_id"].tolist() == ["t1"]
    monkeypatch.setattr(members, "LIMITS", {})
    monkeypatch.setattr(members, "MOST", MB)
    [problem] = refusal(path)
    assert problem.startswith(f"{path}: {name} unpacks to ")
    assert problem.endswith(f"at most {MB} are read")


def test_a_table_packed_to_almost_nothing_takes_no_memory(tmp_path: Path) -> None:
    path = written(tmp_path, "trials.csv", 20)
    tracemalloc.start()
    [problem] = refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "at most 100 times its packed size is read" in problem
    assert peak < 4 * MB


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_ways_of_packing_that_unpack_without_a_bound_are_refused(
    tmp_path: Path, method: int
) -> None:
    path = written(tmp_path, "trials.csv", 1, method)
    assert refusal(path) == [
        f"{path}: trials.csv is packed in an unusual way; export the study again"
    ]


def test_a_file_that_is_larger_than_the_zip_says_is_not_unpacked_whole(tmp_path: Path) -> None:
    path = written(tmp_path, "trials.csv", 60)
    with zipfile.ZipFile(path) as archive:
        told = archive.getinfo("trials.csv").file_size.to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(told, (100).to_bytes(4, "little")))
    tracemalloc.start()
    assert "damaged" in refusal(path)[0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * MB
