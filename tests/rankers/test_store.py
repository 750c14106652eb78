"""Stores keep what they were given, whoever else writes and however the process ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from rankers.errors import BadInput, StoreError
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


@pytest.mark.parametrize("content", ["short", "x" * 5000])
def test_any_other_file_is_refused_and_left_as_it_was(tmp_path: Path, content: str):
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(BadInput, match=r"notes\.txt: cannot be used to keep answers"):
        FileStore(path)
    assert path.read_text() == content
    assert [one.name for one in tmp_path.iterdir()] == ["notes.txt"]


def test_a_database_of_another_program_is_refused_and_gets_no_table(tmp_path: Path):
    path = tmp_path / "site.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE account (name TEXT)")
    with pytest.raises(BadInput, match=r"another program \(tables: account\)"):
        FileStore(path)
    with sqlite3.connect(path) as connection:
        names = connection.execute("SELECT name FROM sqlite_master").fetchall()
    assert names == [("account",)]


def test_a_table_of_other_columns_is_refused(tmp_path: Path):
    path = tmp_path / "other.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE response (question TEXT)")
    with pytest.raises(BadInput, match=r"other\.sqlite3: cannot be used .*no such column"):
        FileStore(path)


def test_a_power_cut_loses_nothing_since_every_commit_waits_for_the_disk(tmp_path: Path):
    store = FileStore(tmp_path / "answers.sqlite3")
    with store._writer.use() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_a_store_out_of_use_is_one_file(tmp_path: Path):
    store = FileStore(tmp_path / "answers.sqlite3")
    store.put("k", {"content": "x"})
    assert store.get("k") is not None
    del store
    assert [one.name for one in tmp_path.iterdir()] == ["answers.sqlite3"]


# Forks and kills.


def _fork_and_put(store: FileStore, name: str) -> int:
    """Put one answer in a forked child; its exit status."""
    pid = os.fork()
    if pid == 0:
        try:
            store.put(name, {"by": "child"})
            os._exit(0 if store.get(name) == {"by": "child"} else 3)
        except BaseException:
            os._exit(4)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_children_forked_while_threads_write_can_write_and_the_parent_goes_on(tmp_path: Path):
    store = FileStore(tmp_path / "answers.sqlite3")
    written: list[str] = []
    is_over = threading.Event()

    def write(name: int) -> None:
        for k in range(1_000_000):
            store.put(f"{name}-{k}", {"by": name})
            written.append(f"{name}-{k}")
            if is_over.is_set():
                return

    threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    try:
        statuses = [_fork_and_put(store, f"child-{k}") for k in range(12)]
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert statuses == [0] * 12
    assert all(store.get(key) is not None for key in written)
    assert all(store.get(f"child-{k}") == {"by": "child"} for k in range(12))
    assert _is_sound(store.path)


def _is_sound(path: Path) -> bool:
    with sqlite3.connect(path) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


_MANY_WRITERS = """
import itertools, sys, threading
from rankers.store import FileStore
store = FileStore(sys.argv[1])
def write(name):
    for k in itertools.count():
        store.put(f"{name}-{k}", {"content": "x" * 2000})
        sys.stdout.write(f"{name}-{k}\\n")
        sys.stdout.flush()
for name in range(8):
    threading.Thread(target=write, args=(f"{sys.argv[2]}{name}",)).start()
"""


def test_two_processes_of_many_threads_killed_while_writing_lose_nothing(tmp_path: Path):
    path = tmp_path / "answers.sqlite3"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _MANY_WRITERS, str(path), name],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "ab"
    ]
    seen: list[str] = []
    for writer in writers:
        assert writer.stdout is not None
        seen += [next(writer.stdout).strip() for _ in range(150)]
    for writer in writers:
        os.kill(writer.pid, signal.SIGKILL)
    for writer in writers:
        assert writer.stdout is not None
        seen += [line.strip() for line in writer.stdout if line.endswith("\n")]
        assert writer.wait() == -signal.SIGKILL
    store = FileStore(path)
    assert [key for key in seen if store.get(key) != {"content": "x" * 2000}] == []
    assert _is_sound(path)


# Trouble with the disk.


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a small file system is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def _put_until_refused(store: FileStore, first: int = 0) -> tuple[int, StoreError]:
    for k in range(first, 10_000):
        try:
            store.put(str(k), {"content": "x" * 2000})
        except StoreError as error:
            return k, error
    raise AssertionError("the disk never filled up")


def test_a_full_disk_is_told_keeps_what_is_stored_and_is_over_once_there_is_space(
    small_disk: Path,
):
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 200_000)
    store = FileStore(small_disk / "answers.sqlite3")
    refused, error = _put_until_refused(store)
    assert refused > 5
    assert "answers.sqlite3: an answer cannot be kept" in str(error)
    assert "free some space" in str(error)
    assert all(store.get(str(k)) == {"content": "x" * 2000} for k in range(refused))
    assert store.get(str(refused)) is None

    ballast.unlink()
    later, _ = _put_until_refused(store, refused)
    assert later > refused + 5
    again = FileStore(small_disk / "answers.sqlite3")
    assert all(again.get(str(k)) == {"content": "x" * 2000} for k in range(later))
    del store, again
    assert _is_sound(small_disk / "answers.sqlite3")


def test_threads_waiting_together_for_a_full_disk_are_all_refused(small_disk: Path):
    store = FileStore(small_disk / "answers.sqlite3")
    with (small_disk / "ballast").open("wb", buffering=0) as stream, suppress(OSError):
        while True:
            stream.write(b"x" * 4096)
    outcomes: list[str] = []

    def put(name: int) -> None:
        try:
            store.put(str(name), {"content": "x" * 50_000})
            outcomes.append("kept")
        except StoreError:
            outcomes.append("refused")

    threads = [threading.Thread(target=put, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == ["refused"] * 8
    assert len(store) == 0


_LIMITED = """
import resource, sys
from rankers.errors import StoreError
from rankers.store import FileStore
store = FileStore(sys.argv[1])
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
kept = 0
try:
    while True:
        store.put(str(kept), {"content": "x" * 2000})
        kept += 1
except StoreError as error:
    print(kept, error)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
assert all(store.get(str(k)) for k in range(kept)) and store.get(str(kept)) is None
store.put(str(kept), {"content": "x" * 2000})
"""


def test_a_file_that_may_not_grow_is_told_and_written_again_when_it_may(tmp_path: Path):
    path = tmp_path / "answers.sqlite3"
    result = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(path)], cwd=ROOT, capture_output=True, text=True
    )
    assert (result.returncode, result.stderr) == (0, "")
    kept, _, words = result.stdout.partition(" ")
    assert "free some space" in words
    store = FileStore(path)
    assert len(store) == int(kept) + 1 > 5
    del store
    assert _is_sound(path)


def test_a_store_that_becomes_read_only_says_so(tmp_path: Path):
    path = tmp_path / "answers.sqlite3"
    store = FileStore(path)
    store.put("k", {"content": "x"})
    with store._writer.use() as connection:
        connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match="may not be written: check the permissions"):
        store.put("l", {"content": "y"})
    store.put("l", {"content": "y"})  # over another connection
    assert store.get("l") == {"content": "y"}
