"""The example notebook does what it shows: its cells are run, and their text outputs compared."""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def run_cell(source: str, names: dict[str, Any]) -> tuple[str, Any]:
    """What a cell prints, and the value of its last line if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return printed.getvalue(), value


def stored(cell: dict[str, Any], key: str) -> str:
    """The printed text (``stream``) or the shown value (a media type) that a cell stores."""
    texts = []
    for output in cell["outputs"]:
        content = output.get("text") if key == "stream" else output.get("data", {}).get(key)
        texts.append("".join(content or ""))
    return "".join(texts)


def code_cells(path: Path) -> list[dict[str, Any]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_there_is_an_example() -> None:
    assert [path.name for path in NOTEBOOKS] == ["results.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_running_the_cells_gives_the_stored_outputs(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    names: dict[str, Any] = {"__name__": "__main__"}
    compared = 0
    for cell in code_cells(path):
        printed, value = run_cell("".join(cell["source"]), names)
        assert printed == stored(cell, "stream")
        assert ("" if value is None else repr(value)) == stored(cell, "text/plain")
        if hasattr(value, "_repr_svg_"):
            assert stored(cell, "image/svg+xml").lstrip().startswith(("<?xml", "<svg"))
        compared += bool(printed) + (value is not None)
    assert compared >= 10


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_an_example_is_small_complete_and_names_no_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) < 300_000
    assert not [word for word in ("/work", "/home", "/root", "/tmp", "/Users") if word in text]
    notebook = json.loads(text)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    counts = [cell["execution_count"] for cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1))
    assert all(cell["metadata"] == {} for cell in notebook["cells"])
    kinds = {output["output_type"] for cell in code_cells(path) for output in cell["outputs"]}
    assert kinds <= {"stream", "execute_result"}
