"""Output files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rankers.errors import BadInput


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A temporary file beside ``path`` that takes its place when the block ends well.

    Raises BadInput, naming the path, when its folder cannot be written.
    """
    try:
        stream = tempfile.NamedTemporaryFile(  # noqa: SIM115 - renamed or removed below
            dir=path.parent, prefix=f".{path.name}.", delete=False
        )
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from error
    try:
        with stream:
            yield stream.file  # type: ignore[misc]
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(stream.name, 0o666 & ~_umask())
        os.replace(stream.name, path)
    except BaseException:
        os.unlink(stream.name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
