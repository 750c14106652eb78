"""The dependency rule: who may import whom, read from the source and seen at run time."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FRAMEWORKS = {"celery", "django", "dj_database_url", "kombu", "redis", "rest_framework"}
PLAIN = {
    "rankers": FRAMEWORKS | {"studyapp", "analysis"},
    "analysis": FRAMEWORKS | {"studyapp", "rankers"},
}

#: Layers of studyapp, lowest first; what is not named is at the edge, above all of them.
LAYERS = (
    {"codes", "compiled", "enums", "environment", "errors", "triggers"},
    {"recruiters"},
    {"models"},
    {"protocols"},
    {"domain"},
)
EDGE = len(LAYERS)
#: The one way up, inside a function: the domain rings the bell of a task that it does not wait for.
EXCEPTIONS = {
    ("studyapp.domain.export_jobs", "studyapp.tasks"),
    ("studyapp.domain.precompute", "studyapp.tasks"),
    ("studyapp.domain.results_jobs", "studyapp.tasks"),
    ("studyapp.domain.prolific_work", "studyapp.tasks"),
}


@dataclass(frozen=True)
class Import:
    """``importer`` imports ``target``; ``is_lazy`` when it does so inside a function."""

    importer: str
    target: str
    is_lazy: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_in(source: str, importer: str, *, is_package: bool = False) -> Iterator[Import]:
    """Every import of a module's source; ``from a import b`` counts as ``a`` and as ``a.b``."""
    package = importer.split(".") if is_package else importer.split(".")[:-1]

    def visit(node: ast.AST, is_lazy: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(importer, alias.name, is_lazy)
        elif isinstance(node, ast.ImportFrom):
            kept = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*kept, *([node.module] if node.module else [])])
            yield Import(importer, base, is_lazy)
            for alias in node.names:
                yield Import(importer, f"{base}.{alias.name}", is_lazy)
        inside = is_lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inside)

    yield from visit(ast.parse(source), False)


def imports_of(package: str) -> list[Import]:
    found: list[Import] = []
    for path in sorted((ROOT / package).rglob("*.py")):
        found += imports_in(
            path.read_text(encoding="utf-8"),
            module_name(path),
            is_package=path.name == "__init__.py",
        )
    return found


def layer_of(module: str) -> int:
    """The layer of a studyapp module; the bare package holds the Celery app and belongs nowhere."""
    part = module.split(".")[1]
    return next((number for number, names in enumerate(LAYERS) if part in names), EDGE)


def upward(imports: list[Import]) -> list[Import]:
    """Imports inside studyapp that go from a lower layer to a higher one."""
    return [
        one
        for one in imports
        if one.target.startswith("studyapp.")
        and one.importer.startswith("studyapp.")
        and layer_of(one.target) > layer_of(one.importer)
    ]


def lines(imports: list[Import]) -> list[str]:
    return sorted({f"{one.importer} imports {one.target}" for one in imports})


@pytest.mark.parametrize("package", PLAIN)
def test_plain_packages_name_no_framework_and_not_each_other(package: str) -> None:
    found = imports_of(package)
    assert any(one.target.startswith(f"{package}.") for one in found)
    assert lines([one for one in found if one.target.split(".")[0] in PLAIN[package]]) == []


#: Imports every module of a package but its command line, and prints the top names then loaded.
IMPORT_ALL = """
import importlib, json, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""


@pytest.mark.parametrize("package", PLAIN)
def test_plain_packages_load_no_framework_and_not_each_other(package: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, package],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    loaded = set(json.loads(result.stdout))
    assert package in loaded
    assert loaded & PLAIN[package] == set()


def test_inside_studyapp_imports_go_down() -> None:
    wrong = [
        one
        for one in upward(imports_of("studyapp"))
        if not any(
            one.importer == importer and f"{one.target}.".startswith(f"{target}.")
            for importer, target in EXCEPTIONS
        )
    ]
    assert lines(wrong) == []


def test_every_exception_is_in_use_and_inside_a_function() -> None:
    found = upward(imports_of("studyapp"))
    for importer, target in EXCEPTIONS:
        uses = [one for one in found if (one.importer, one.target) == (importer, target)]
        assert uses, f"{importer} imports {target} no more: take it off the list"
        assert all(one.is_lazy for one in uses)


def test_leaf_modules_import_nothing_of_the_project() -> None:
    leaves = {"studyapp.enums", "studyapp.errors", "studyapp.environment"}
    found = [one for one in imports_of("studyapp") if one.importer in leaves]
    assert {one.importer for one in found} == leaves
    own = ("studyapp", "rankers", "analysis")
    assert lines([one for one in found if one.target.split(".")[0] in own]) == []


@pytest.mark.parametrize(
    ("importer", "source"),
    [
        ("studyapp.models.trial", "from studyapp.domain import trials"),
        ("studyapp.models.trial", "from studyapp import domain"),
        ("studyapp.models.trial", "from ..domain import trials"),
        ("studyapp.protocols.verification", "import studyapp.domain.trials"),
        ("studyapp.domain.trials", "def f():\n    from studyapp.views import participant"),
        ("studyapp.domain.trials", "def f():\n    from studyapp.tasks import prepare"),
    ],
)
def test_the_check_sees_an_import_that_goes_up(importer: str, source: str) -> None:
    assert upward(list(imports_in(source, importer)))


def test_the_check_lets_an_import_that_goes_down_pass() -> None:
    source = "from studyapp.models import Trial\nfrom . import texts\nimport rankers"
    assert upward(list(imports_in(source, "studyapp.domain.trials"))) == []
