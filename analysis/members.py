"""The files of an export's zip, none of which is read that would fill the memory."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable

#: The most that a file may unpack to, in bytes; of any other, ``MOST``.
LIMITS = {"study.json": 64 * 1024**2, "events.csv": 1024**3}
MOST = 256 * 1024**2
#: A larger file than this, in bytes, that is packed to less than a hundredth is no table of ours:
#: the random ids in every row keep real ones far from that.
SMALL = 16 * 1024**2
MAX_RATIO = 100
#: Ways of packing of which zipfile unpacks a piece at once, however large it becomes.
_UNBOUNDED = (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_PIECE = 1024**2


def size_problems(archive: zipfile.ZipFile, names: Iterable[str], source: str) -> list[str]:
    """One line for each of the files ``names``, where it is there, that is too large to be read.

    ``source`` is what messages call the zip. Looks at the zip's list of files alone; that no file
    is larger than the list tells is for ``read_member`` to see to.
    """
    wanted = set(names)
    found = (_size_problem(info) for info in archive.infolist() if info.filename in wanted)
    return [f"{source}: {problem}" for problem in found if problem]


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """A file of the zip, never more than the size that the zip's list tells.

    Read piece by piece: asked for all at once, zipfile would unpack all before it cuts. Raises what
    zipfile raises, KeyError for a file that is not there.
    """
    content = bytearray()
    with archive.open(name) as packed:
        while piece := packed.read(_PIECE):
            content += piece
    return bytes(content)


def _size_problem(info: zipfile.ZipInfo) -> str:
    most = LIMITS.get(info.filename, MOST)
    unpacks = f"{info.filename} unpacks to {info.file_size} bytes"
    if info.compress_type in _UNBOUNDED:
        return f"{info.filename} is packed in an unusual way; export the study again"
    if info.file_size > most:
        return f"{unpacks}; at most {most} are read"
    if info.file_size > max(SMALL, MAX_RATIO * info.compress_size):
        return (
            f"{unpacks}, packed in {info.compress_size}; above {SMALL} bytes at most "
            f"{MAX_RATIO} times its packed size is read"
        )
    return ""
