"""Places for calls: one limit for all threads and processes of a machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from rankers.errors import MissingDependency
from rankers.places import place
from tests.llm_server import LLMServer
from tests.rankers.test_llm import MESSAGES, QUICK, llm_at
from tests.shared_data import ROOT

ADDRESS = "http://example.test/v1"

# Takes a place, says so, and keeps it until its standard input ends.
_HOLD = """
import sys
from rankers.places import place
with place(sys.argv[1], int(sys.argv[2]), sys.argv[3]):
    print("has it", flush=True)
    sys.stdin.read()
"""

# Asks so many questions from so many threads.
_ASK = """
import sys, threading
from rankers.endpoint import LLMSettings
from rankers.llm import LLM
url, limit, folder, n_threads, n_calls = sys.argv[1:]
llm = LLM("m", base_url=url, settings=LLMSettings(concurrency=int(limit), places=folder))
llm.complete([{"role": "user", "content": "first"}], max_tokens=5)
print("ready", flush=True)
sys.stdin.readline()
def ask(thread):
    for k in range(int(n_calls)):
        llm.complete([{"role": "user", "content": f"{thread} {k}"}], max_tokens=5)
threads = [threading.Thread(target=ask, args=(k,)) for k in range(int(n_threads))]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def say(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.flush()


def wait_for_word(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline()


@contextmanager
def held_elsewhere(limit: int, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process has a place."""
    with start(_HOLD, ADDRESS, limit, folder) as process:
        try:
            wait_for_word(process)
            yield process
        finally:
            process.kill()


def is_free(limit: int, folder: Path, seconds: float = 0.3) -> bool:
    """Whether a place can be had within that time; it is given back in any case."""
    got = threading.Event()

    def take() -> None:
        with place(ADDRESS, limit, str(folder)):
            got.set()

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    return got.wait(seconds)


def test_two_processes_together_keep_to_the_limit(tmp_path: Path):
    with LLMServer(latency=0.03) as server, ExitStack() as stack:
        processes = [
            stack.enter_context(start(_ASK, server.base_url, 3, tmp_path, 6, 5)) for _ in range(2)
        ]
        for process in processes:
            wait_for_word(process)
        for process in processes:
            say(process, "\n")
        assert [process.wait(60) for process in processes] == [0, 0]
        assert len(server.requests) == 62
        assert server.most_at_once == 3


def test_with_different_limits_all_together_keep_to_the_larger_one(tmp_path: Path):
    with LLMServer(latency=0.03) as server, ExitStack() as stack:
        processes = [
            stack.enter_context(start(_ASK, server.base_url, limit, tmp_path, 6, 5))
            for limit in (1, 4)
        ]
        for process in processes:
            wait_for_word(process)
        for process in processes:
            say(process, "\n")
        assert [process.wait(60) for process in processes] == [0, 0]
        assert len(server.requests) == 62
        assert 2 <= server.most_at_once <= 4


def test_a_small_limit_finds_its_place_beside_a_large_one(tmp_path: Path):
    with held_elsewhere(4, tmp_path), held_elsewhere(4, tmp_path), held_elsewhere(4, tmp_path):
        assert is_free(1, tmp_path, 5)


def test_a_process_that_never_pauses_lets_another_one_in(tmp_path: Path):
    with LLMServer(latency=0.02) as server:
        with start(_ASK, server.base_url, 1, tmp_path, 4, 1_000_000) as busy:
            try:
                wait_for_word(busy)
                say(busy, "\n")
                while len(server.requests) < 10:
                    time.sleep(0.01)
                settings = replace(QUICK, concurrency=1, places=str(tmp_path))
                llm = llm_at(server, settings=settings)
                for _ in range(5):
                    before = len(server.requests)
                    llm.complete(MESSAGES, max_tokens=5)
                    # Whoever looks as often gets about every second place.
                    assert len(server.requests) - before < 60
            finally:
                busy.kill()
        assert server.most_at_once == 1


def test_a_place_is_waited_for_and_had_once_it_is_given_back(tmp_path: Path):
    with held_elsewhere(1, tmp_path) as holder:
        assert not is_free(1, tmp_path)
        assert holder.stdin is not None
        holder.stdin.close()
        assert holder.wait(10) == 0
        assert is_free(1, tmp_path, 5)


def test_a_killed_process_has_no_place_any_more(tmp_path: Path):
    with held_elsewhere(1, tmp_path) as holder:
        assert not is_free(1, tmp_path)
        os.kill(holder.pid, signal.SIGKILL)
        assert is_free(1, tmp_path, 5)


def test_an_error_gives_the_place_back(tmp_path: Path):
    with pytest.raises(ZeroDivisionError):
        with place(ADDRESS, 1, str(tmp_path)):
            raise ZeroDivisionError
    assert is_free(1, tmp_path)


def test_addresses_and_folders_do_not_wait_for_each_other(tmp_path: Path):
    with place(ADDRESS, 1, str(tmp_path / "one")):
        with place("http://other.test/v1", 1, str(tmp_path / "one")):
            with place(ADDRESS, 1, str(tmp_path / "two")):
                assert not is_free(1, tmp_path / "one", 0.1)


def test_a_child_forked_while_all_places_are_taken_neither_has_nor_keeps_one(tmp_path: Path):
    with ExitStack() as stack:
        stack.enter_context(place(ADDRESS, 1, str(tmp_path)))
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                had = is_free(1, tmp_path, 0.2)
                os.write(writer, b"early" if had else b"waits")
                os._exit(0 if is_free(1, tmp_path, 20) else 3)
            except BaseException:
                os._exit(4)
        assert os.read(reader, 5) == b"waits"
        stack.close()
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(reader)
    os.close(writer)
    assert is_free(1, tmp_path)


def test_a_forked_worker_that_lives_on_holds_nothing_of_a_killed_parent(tmp_path: Path):
    program = _HOLD.replace(
        '    print("has it"',
        "    import os, time\n    if os.fork() == 0: time.sleep(60)\n    print(os.getpgid(0)",
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, ADDRESS, "1", str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as parent:
        wait_for_word(parent)
        try:
            os.kill(parent.pid, signal.SIGKILL)
            assert is_free(1, tmp_path, 5)
        finally:
            os.killpg(parent.pid, signal.SIGKILL)


def test_a_deleted_file_is_made_anew_and_shared_again(tmp_path: Path):
    assert is_free(1, tmp_path)
    (file,) = tmp_path.iterdir()
    file.unlink()
    with held_elsewhere(1, tmp_path):
        assert not is_free(1, tmp_path)


def test_without_a_folder_it_is_one_of_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with place(ADDRESS + "/own", 1):
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        (file,) = folder.iterdir()
        assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("trap", ["link", "file", "open folder"])
def test_what_somebody_else_put_in_its_place_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trap: str
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    name = tmp_path / f"suffice-llm-places-{os.getuid()}"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if trap == "link":
        name.symlink_to(elsewhere)
    elif trap == "file":
        name.write_text("")
    else:
        name.mkdir()
        name.chmod(0o777)
    with pytest.raises(MissingDependency, match=r"not a folder of this user.*SUFFICE_LLM_PLACES"):
        with place(f"{ADDRESS}/{trap}", 1):
            pass
    assert list(elsewhere.iterdir()) == []


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path):
    assert is_free(1, tmp_path)
    (file,) = tmp_path.iterdir()
    file.unlink()
    file.symlink_to(tmp_path / "target")
    with pytest.raises(MissingDependency, match="SUFFICE_LLM_PLACES"):
        with place(ADDRESS, 1, str(tmp_path)):
            pass
    assert not (tmp_path / "target").exists()


def test_a_folder_that_cannot_be_made_is_told_with_the_setting(tmp_path: Path):
    (tmp_path / "file").write_text("")
    folder = str(tmp_path / "file" / "places")
    with LLMServer() as server:
        llm = llm_at(server, settings=replace(QUICK, places=folder))
        with pytest.raises(MissingDependency, match=r"file/places: .*SUFFICE_LLM_PLACES"):
            llm.complete(MESSAGES, max_tokens=5)
        assert server.requests == []
