"""Checks of output paths before anything is read or written: no input may be lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rankers.errors import BadInput


def check_outputs(outputs: Sequence[str | Path], inputs: Iterable[str | Path]) -> None:
    """Raise BadInput for an output that is an input, another output or cannot be a file.

    Links and other spellings of a path count as the file they lead to.
    """
    read = [Path(path) for path in inputs]
    for number, output in enumerate(map(Path, outputs)):
        if output.exists() and not output.is_file():
            what = "a folder" if output.is_dir() else "no regular file"
            raise BadInput(f"{output}: is {what}: give the output a file name")
        if not output.parent.is_dir():
            raise BadInput(f"{output}: cannot be written: there is no folder {output.parent}")
        for path in read:
            if _is_same(output, path):
                raise BadInput(
                    f"{output}: is the input {path}, which would be lost: "
                    "give the output another name"
                )
        for other in outputs[:number]:
            if _is_same(output, Path(other)) or output.resolve() == Path(other).resolve():
                raise BadInput(f"{output}: is the output {other} too: give each its own name")


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)
