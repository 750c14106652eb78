"""Stores keep what they were given, whoever else writes and however the process ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rankers.errors import BadInput
from rankers.store import FileStore, MemoryStore, ResponseStore
from tests.shared_data import ROOT


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ResponseStore:
    return MemoryStore() if request.param == "memory" else FileStore(tmp_path / "answers.sqlite3")


def test_an_answer_comes_back_as_it_was_put(store: ResponseStore):
    response = {"content": "schön [1]\n\x00", "usage": {"cached": None, "n": 3}}
    store.put("k", response)
    assert store.get("k") == response
    assert store.get("other") is None


def test_the_first_answer_stays(store: ResponseStore):
    store.put("k", {"content": "first"})
    store.put("k", {"content": "second"})
    assert store.get("k") == {"content": "first"}


def test_changing_what_was_got_changes_nothing_stored(store: ResponseStore):
    store.put("k", {"content": "first"})
    got = store.get("k")
    assert got is not None
    got["content"] = "changed"
    assert store.get("k") == {"content": "first"}


def test_threads_write_the_same_store_without_losing_anything(store: ResponseStore):
    def write(name: int) -> None:
        for k in range(20):
            store.put(f"{k}", {"by": name})
            store.put(f"{name}-{k}", {"by": name})

    threads = [threading.Thread(target=write, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(store.get(f"{name}-{k}") == {"by": name} for name in range(6) for k in range(20))
    assert all(store.get(f"{k}") is not None for k in range(20))


def _open_and_write(path: Path, name: int) -> None:
    store = FileStore(path)
    for k in range(25):
        store.put(f"{name}-{k}", {"by": name})


def test_processes_that_start_together_share_one_file(tmp_path: Path):
    path = tmp_path / "new" / "answers.sqlite3"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_open_and_write, args=(path, name)) for name in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(30)
    assert [writer.exitcode for writer in writers] == [0, 0, 0, 0]
    assert len(FileStore(path)) == 100


def test_a_store_made_before_a_fork_works_in_the_child(tmp_path: Path):
    store = FileStore(tmp_path / "answers.sqlite3")
    store.put("parent", {"by": "parent"})
    child = multiprocessing.get_context("fork").Process(
        target=store.put, args=("child", {"by": "child"})
    )
    child.start()
    child.join(30)
    assert store.get("child") == {"by": "child"}
    assert store.get("parent") == {"by": "parent"}


def test_what_was_put_before_kill_9_is_there_afterwards(tmp_path: Path):
    path = tmp_path / "answers.sqlite3"
    program = (
        "import itertools, sys\n"
        "from rankers.store import FileStore\n"
        "store = FileStore(sys.argv[1])\n"
        "for k in itertools.count():\n"
        "    store.put(str(k), {'content': 'x' * 2000})\n"
        "    print(k, flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        seen = [int(next(writer.stdout)) for _ in range(40)]
        os.kill(writer.pid, signal.SIGKILL)
        seen += [int(line) for line in writer.stdout if line.endswith("\n")]
    store = FileStore(path)
    assert all(store.get(str(k)) == {"content": "x" * 2000} for k in seen)
    store.put("after", {"content": "y"})
    assert store.get("after") == {"content": "y"}


def test_a_file_of_another_kind_is_refused_by_name(tmp_path: Path):
    path = tmp_path / "claims.jsonl"
    path.write_text('{"id": "a"}\n' * 200)
    with pytest.raises(BadInput, match=r"claims\.jsonl: cannot be used to keep answers"):
        FileStore(path)
    assert path.read_text() == '{"id": "a"}\n' * 200


def test_a_folder_that_cannot_be_made_is_refused_by_name(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="file: cannot make the folder"):
        FileStore(tmp_path / "file" / "answers.sqlite3")
