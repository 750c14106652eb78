"""The documents say what is there: commands, options, targets, variables, files."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import yaml
from django.core.management import get_commands, load_command_class

from rankers.endpoint import LLMSettings

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
DOCUMENTS = [
    README,
    ROOT / "docs" / "accessibility.md",
    ROOT / "docs" / "api.md",
    ROOT / "docs" / "coverage.md",
    ROOT / "docs" / "deployment.md",
    ROOT / "docs" / "exports.md",
    ROOT / "docs" / "faults.md",
    ROOT / "docs" / "formats.md",
    ROOT / "docs" / "rankers.md",
    ROOT / "docs" / "recruiting-prolific.md",
    ROOT / "fixtures" / "README.md",
]
#: Variables of the programs around ours: granian, and the PostgreSQL container.
OTHERS = {"POSTGRES_PASSWORD", "GRANIAN_WORKERS"}
VARIABLE = re.compile(
    r"\b(?:(?:SUFFICE|OPENAI|PROLIFIC_(?:API|WEBHOOK)|CELERY|DATABASE)_[A-Z0-9_]+|SECRET_KEY|DEBUG)\b"
)


def code_of(path: Path) -> list[str]:
    """Every line of fenced code (continued lines joined) and every piece of inline code."""
    text = path.read_text(encoding="utf-8")
    blocks = re.findall(r"^ *```\w*\n(.*?)^ *```", text, flags=re.DOTALL | re.MULTILINE)
    inline = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line.split("  #")[0].strip() for line in lines] + inline


def command_lines(*documents: Path) -> list[list[str]]:
    """Lines of code that call one of our commands, as words."""
    found = []
    for document in documents:
        for line in code_of(document):
            if re.search(r"manage\.py|python -m (rankers|analysis)", line):
                found.append([word for word in shlex.split(line) if word != "…"])
    return found


def words_after(words: list[str], *start: str) -> list[str] | None:
    """What follows ``start`` in a command line, or None when it is not in there."""
    for number in range(len(words) - len(start) + 1):
        if tuple(words[number : number + len(start)]) == start:
            return words[number + len(start) :]
    return None


def options_in(words: list[str]) -> set[str]:
    return {word for word in words if word.startswith("-")}


MANAGED = [
    (rest[0], rest[1:])
    for words in command_lines(*DOCUMENTS)
    if (rest := words_after(words, "manage.py")) and not rest[0].startswith("-")
]
MODULES = [
    (package, rest[0], rest[1:])
    for words in command_lines(*DOCUMENTS)
    for package in ("rankers", "analysis")
    if (rest := words_after(words, "-m", package))
]


def test_the_documents_name_the_commands_of_a_study() -> None:
    assert {name for name, _ in MANAGED} >= {
        "create_study",
        "import_claims",
        "add_condition",
        "precompute",
        "schedule",
        "open_study",
        "simulate",
        "export_study",
        "import_study",
    }
    assert {(package, name) for package, name, _ in MODULES} >= {
        ("rankers", "rank"),
        ("rankers", "evaluate"),
        ("analysis", "measures"),
        ("analysis", "report"),
    }


def parser_of(name: str) -> argparse.ArgumentParser:
    app = get_commands()[name]
    assert isinstance(app, str)
    return load_command_class(app, name).create_parser("manage.py", name)


@pytest.mark.parametrize(("name", "words"), MANAGED, ids=[" ".join([n, *w]) for n, w in MANAGED])
def test_every_management_command_exists_and_takes_its_options(name: str, words: list[str]) -> None:
    assert name in get_commands()
    assert options_in(words) <= set(parser_of(name)._option_string_actions)


FULL_LINES = [(name, words) for name, words in MANAGED if words and words[0][0] != "-"]


@pytest.mark.parametrize(("name", "words"), FULL_LINES, ids=[n for n, _ in FULL_LINES])
def test_every_full_command_line_is_understood(name: str, words: list[str]) -> None:
    """A line with arguments can be typed as it stands; only a wrong one would raise."""
    assert parser_of(name).parse_args(words)


@cache
def help_of(package: str, name: str) -> str:
    result = subprocess.run(
        [sys.executable, "-m", package, name, "--help"],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize(
    ("package", "name", "words"), MODULES, ids=[" ".join([p, n, *w]) for p, n, w in MODULES]
)
def test_every_package_command_exists_and_takes_its_options(
    package: str, name: str, words: list[str]
) -> None:
    known = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", help_of(package, name)))
    assert options_in(words) <= known


def test_the_python_example_of_the_readme_runs_and_ranks_the_idle_sentence_last() -> None:
    [example] = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)
    result = subprocess.run(
        [sys.executable, "-c", example], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr
    order = ast.literal_eval(result.stdout)
    assert sorted(order) == [0, 1, 2]
    assert order[-1] == 0


def test_every_method_in_the_documents_is_registered() -> None:
    from rankers import METHODS

    named = {
        words[number + 1]
        for words in command_lines(*DOCUMENTS)
        for number, word in enumerate(words[:-1])
        if word == "--method"
    }
    assert "coverage" in named
    assert named <= set(METHODS)


def test_every_make_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, flags=re.MULTILINE))
    named = {
        target
        for document in DOCUMENTS
        for line in code_of(document)
        for target in re.findall(r"^make ([a-z][a-z-]*)", line)
    }
    assert named >= {"setup", "demo", "run", "worker", "test", "lint", "bench"}
    assert named <= targets


def variables_of_settings() -> set[str]:
    """Names that settings.py hands to the env_… helpers."""
    tree = ast.parse((ROOT / "studyapp" / "settings.py").read_text())
    return {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id.startswith("env_")
        and isinstance(node.args[0], ast.Constant)
    }


def variables_of_rankers() -> set[str]:
    """OPENAI_… names in the source of rankers.llm, and one SUFFICE_LLM_… for each setting."""
    tree = ast.parse((ROOT / "rankers" / "llm.py").read_text())
    read = {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and str(node.args[0].value).isupper()
    }
    return read | {f"SUFFICE_LLM_{one.name.upper()}" for one in dataclasses.fields(LLMSettings)}


def variables_known() -> set[str]:
    return variables_of_settings() | variables_of_rankers()


def test_the_readme_lists_exactly_the_variables_that_are_read() -> None:
    rows = re.findall(r"^\| `([A-Z0-9_]+)` \|", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert {"SUFFICE_ENV", "OPENAI_MODEL", "SUFFICE_LLM_TIMEOUT"} <= variables_known()
    assert len(rows) == len(set(rows))
    assert set(rows) == variables_known()


@pytest.mark.parametrize(
    "name", ["docker-compose.yml", "Dockerfile", ".env.example", "docs/deployment.md", "README.md"]
)
def test_no_file_names_a_variable_that_nobody_reads(name: str) -> None:
    named = set(VARIABLE.findall((ROOT / name).read_text(encoding="utf-8")))
    assert named <= variables_known()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", document.read_text(encoding="utf-8"))
    missing = [link for link in links if not (document.parent / link).exists()]
    assert missing == []


def test_every_fault_names_a_test_that_is_in_the_file_it_links_to() -> None:
    text = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    named = re.findall(r"\[`(test_\w+)`\]\(\.\./([^)]+)\)", text)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    n_heads = sum(set(line) <= set("| -") for line in rows)
    assert len(named) == len(rows) - 2 * n_heads > 30
    for name, path in named:
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), name


def compose() -> dict[str, dict[str, object]]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


def test_every_lasting_service_has_a_health_check() -> None:
    services = compose()
    assert set(services) == {"proxy", "web", "worker", "beat", "migrate", "postgres", "redis"}
    assert "HEALTHCHECK" in (ROOT / "Dockerfile").read_text()  # the web process's own
    for name, service in services.items():
        check = service["healthcheck"]
        assert isinstance(check, dict)
        assert check.get("disable", False) is (name == "migrate")
        assert name in ("web", "migrate") or check["test"]


@pytest.mark.parametrize("name", ["web", "worker", "beat"])
def test_services_wait_for_healthy_servers_and_finished_migrations(name: str) -> None:
    assert compose()[name]["depends_on"] == {
        "postgres": {"condition": "service_healthy"},
        "redis": {"condition": "service_healthy"},
        "migrate": {"condition": "service_completed_successfully"},
    }


def test_secrets_come_from_the_environment_and_have_no_default() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    used = re.findall(r"(?<!\$)\$\{([A-Z0-9_]+)([^}]*)\}", text)
    offered = (ROOT / ".env.example").read_text()
    values = dict(re.findall(r"^([A-Z0-9_]+)=(.*)$", offered, re.MULTILINE))
    assert {name for name, _ in used} == {
        "SUFFICE_PUBLIC_URL",
        *("SECRET_KEY", "POSTGRES_PASSWORD"),
    }
    assert all(rule.startswith(":?") for _, rule in used)
    assert {name for name, _ in used} <= set(values)
    assert values["SECRET_KEY"] == values["POSTGRES_PASSWORD"] == values["OPENAI_API_KEY"] == ""
    assert set(values) <= variables_known() | OTHERS
