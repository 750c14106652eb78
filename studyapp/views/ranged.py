"""A file to download that goes on where a cut connection left off (RFC 9110, section 14)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

#: Bytes that are handed on at once.
PIECE = 256 * 1024
_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})", re.ASCII)


class CannotBeGiven(ValueError):
    """The range that was asked for lies behind the end of the file."""


def ranged_file(request: HttpRequest, path: Path, *, name: str, sha256: str) -> HttpResponseBase:
    """The zip ``path`` or the part of it that was asked for, with its checksum as the ETag.

    ``name`` is of ASCII letters, as those made of a study's slug are.

    206 for one range of bytes, 416 for one behind the end, 304 for who has the file, else 200 with
    the whole. Several ranges at once get the whole file, and so does who has a part of another
    one (If-Range).
    """
    file = path.open("rb")
    size = path.stat().st_size
    etag = f'"{sha256}"'
    headers = {
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Content-Disposition": f'attachment; filename="{name}"',
    }
    if etag in _listed(request.headers.get("If-None-Match", "")):
        file.close()
        return HttpResponse(status=304, headers=headers)
    try:
        part = wanted_part(request, size, etag)
    except CannotBeGiven:
        file.close()
        return HttpResponse(status=416, headers=headers | {"Content-Range": f"bytes */{size}"})
    first, last = part or (0, size - 1)
    headers["Content-Length"] = str(last - first + 1)
    if part:
        headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    return StreamingHttpResponse(
        _Part(file, first, last - first + 1),
        status=206 if part else 200,
        headers=headers,
        content_type="application/zip",
    )


def wanted_part(request: HttpRequest, size: int, etag: str) -> tuple[int, int] | None:
    """First and last byte of the one range that was asked for; None for the whole file.

    Raises CannotBeGiven.
    """
    found = _RANGE.fullmatch(request.headers.get("Range", "").replace(" ", ""))
    if found is None or request.headers.get("If-Range", etag) != etag or found[0] == "bytes=-":
        return None
    first, last = found.groups()
    if not first:
        if not int(last) or not size:
            raise CannotBeGiven
        return max(0, size - int(last)), size - 1
    if last and int(last) < int(first):
        return None
    if int(first) >= size:
        raise CannotBeGiven
    return int(first), min(int(last), size - 1) if last else size - 1


def _listed(header: str) -> list[str]:
    return [each.strip().removeprefix("W/") for each in header.split(",")]


class _Part:
    """Bytes of an open file, piece by piece; closed with the answer, also when nobody read it."""

    def __init__(self, file: BinaryIO, start: int, n_bytes: int):
        self._file, self._start, self._n_bytes = file, start, n_bytes

    def __iter__(self) -> Iterator[bytes]:
        left = self._n_bytes
        self._file.seek(self._start)
        while left > 0 and (piece := self._file.read(min(PIECE, left))):
            left -= len(piece)
            yield piece

    def close(self) -> None:
        self._file.close()
