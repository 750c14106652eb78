"""Places for calls under way at one address, shared by all processes of a user on a machine.

A file per address stands for the places: whoever locks byte ``k`` behind its start has place ``k``.
Such locks belong to a process: the system frees them when it ends, however it ends, and a forked
child has none of its parent's. Processes with different limits share the lower places, so that all
together never have more than the largest limit; they take the highest free place first, which
leaves the low ones to those with a small limit.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import random
import stat
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankers.errors import MissingDependency
from rankers.processes import PerProcess

SETTING = "SUFFICE_LLM_PLACES"

# The file starts with who waited last, and when (monotonic clock); the locked bytes follow.
_MARK = struct.Struct("8sd")
_FIRST_BYTE = 64
# Seconds between two looks for a free place, at random in this range.
_LOOK_AGAIN = (0.003, 0.02)
# So long after a mark its process is taken to wait still.
_MARK_HOLDS = 0.1

Place = tuple[int, int]


@contextmanager
def place(address: str, limit: int, folder: str = "") -> Iterator[None]:
    """Wait for one of ``limit`` places for calls to ``address``, and have it inside ``with``.

    ``folder`` is where the file is kept; without one it is a folder of the user's own among the
    temporary files. Only processes that see the same folder share places.
    Raises MissingDependency, naming the setting, when the folder cannot be used.
    """
    rooms = _rooms()
    key = (address, folder)
    room = rooms.get(key) or rooms.setdefault(key, _Room(address, folder))
    with room.queue(limit):
        taken = room.take(limit)
        try:
            yield
        finally:
            room.give_back(taken)


class _Room:
    """One address's places, as one process sees them."""

    def __init__(self, address: str, folder: str):
        self._folder = folder
        self._name = hashlib.sha256(address.encode()).hexdigest()[:32]
        self._file: int | None = None
        self._held: set[Place] = set()
        self._looking = threading.Lock()
        self._queues: dict[int, threading.Semaphore] = {}
        self._me = os.urandom(8)

    def queue(self, limit: int) -> threading.Semaphore:
        """Where this process's own threads wait for each other, before anybody looks at files."""
        return self._queues.get(limit) or self._queues.setdefault(limit, threading.Semaphore(limit))

    def take(self, limit: int) -> Place:
        """Lock a place, waiting as long as other processes have them all."""
        with self._looking:
            file = self._open_file()
            if self._do_others_wait(file):
                # They look now and then; without a pause a busy process would never let them in.
                time.sleep(random.uniform(*_LOOK_AGAIN))
            while (taken := self._lock_one(file, limit)) is None:
                os.pwrite(file, _MARK.pack(self._me, time.monotonic()), 0)
                time.sleep(random.uniform(*_LOOK_AGAIN))
            self._held.add(taken)
            return taken

    def give_back(self, taken: Place) -> None:
        """Unlock a place. The order matters: no thread may lock it again before it is unlocked."""
        file, number = taken
        fcntl.lockf(file, fcntl.LOCK_UN, 1, _FIRST_BYTE + number)
        self._held.discard(taken)

    def _lock_one(self, file: int, limit: int) -> Place | None:
        """Lock the highest place below ``limit`` that no thread and no process has."""
        for number in reversed(range(limit)):
            if (file, number) in self._held:
                continue
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _FIRST_BYTE + number)
            except (BlockingIOError, PermissionError):  # the two words for: somebody has it
                continue
            return file, number
        return None

    def _do_others_wait(self, file: int) -> bool:
        mark = os.pread(file, _MARK.size, 0)
        if len(mark) < _MARK.size:
            return False
        who, when = _MARK.unpack(mark)
        return who != self._me and 0 <= time.monotonic() - when < _MARK_HOLDS

    def _open_file(self) -> int:
        """The open file; another one when the old one was deleted, as old temporary files are.

        The old one stays open: some thread's place may be in it.
        """
        if self._file is None or not os.fstat(self._file).st_nlink:
            try:
                folder = _usable_folder(self._folder)
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                self._file = os.open(folder / self._name, flags, 0o600)
            except OSError as error:
                raise MissingDependency(
                    f"{error.filename}: cannot keep the places of LLM calls there "
                    f"({error.strerror}); set {SETTING} to a folder of your own that can be written"
                ) from error
        return self._file


def _usable_folder(named: str) -> Path:
    """The folder, made if it is missing. Raises OSError.

    Anybody can make a folder or a link of our name among the temporary files, so there it has to be
    a real folder of this user that nobody else may write to.
    """
    if named:
        Path(named).mkdir(mode=0o700, parents=True, exist_ok=True)
        return Path(named)
    folder = Path(tempfile.gettempdir()) / f"suffice-llm-places-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
            raise PermissionError(0, "it is not a folder of this user alone", str(folder)) from None
    return folder


_rooms: PerProcess[dict[tuple[str, str], _Room]] = PerProcess(dict)
