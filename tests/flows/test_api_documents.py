"""The worked sessions of docs/api.md, run as they stand against a server and a worker."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.site import Site
from tests.shared_data import ROOT

ABOUT = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def session(language: str) -> str:
    """The one piece of code of that language."""
    [code] = re.findall(rf"^```{language}\n(.*?)^```", ABOUT, re.DOTALL | re.MULTILINE)
    return code


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path)
    yield site
    site.close()


def run(site: Site, folder: Path, *command: str) -> str:
    """Run a session in a folder that holds the fixtures, as a checkout does; what it printed."""
    make = "from django.contrib.auth import get_user_model as model\n"
    site.ask(make + "model().objects.create_user('ann', password='x')")
    token = site.manage("api_token", "ann").stdout.strip()
    _, address = site.start_web()
    site.start_worker()
    (folder / "fixtures").symlink_to(ROOT / "fixtures")
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"API_URL": address, "API_TOKEN": token},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def test_the_session_by_python_runs_from_the_draft_to_the_export(
    site: Site, tmp_path: Path
) -> None:
    told = run(site, tmp_path, sys.executable, "-c", session("python")).splitlines()
    assert told[:2] == ["10 claims imported", "5 slots, balanced: True"]
    assert re.fullmatch(r"open http://\S+/p/\w+/", told[2])
    assert told[3:] == ["20 planned trials", "0 events so far", "0 trials measured"]
    names = zipfile.ZipFile(tmp_path / "by-python.zip").namelist()
    assert {"study.json", "rankings.jsonl"} <= set(names)
    assert site.ask("print(Study.objects.get().state, Ranking.objects.count())") == "open 10"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_session_by_curl_runs_from_the_draft_to_the_end(site: Site, tmp_path: Path) -> None:
    told = run(site, tmp_path, "bash", "-e", "-c", session("bash"))
    assert '"imported":10' in told
    assert '"is_balanced":true' in told
    assert "study.json" in zipfile.ZipFile(tmp_path / "by-curl.zip").namelist()
    assert site.ask("print(Study.objects.get().state)") == "closed"
