"""Settings from the environment: what is refused, in which words, and what is the default."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
KEY = "k3y-" + "0123456789abcdefghij" * 4
PRODUCTION = {
    "SUFFICE_ENV": "production",
    "SECRET_KEY": KEY,
    "DATABASE_URL": "postgresql://suffice:hunter2@localhost:5432/suffice",
    "SUFFICE_PUBLIC_URL": "https://study.example.org",
}
#: Prints the named settings as JSON.
SHOW = (
    "import json, sys; from studyapp import settings; "
    "print(json.dumps({name: getattr(settings, name) for name in sys.argv[1:]}, default=str))"
)


def run(
    folder: Path, environment: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run Python in the repository with nothing but ``environment`` and a data folder."""
    basic = {"PATH": os.environ["PATH"], "HOME": str(folder), "SUFFICE_DATA_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=basic | {"SUFFICE_STATIC_DIR": str(folder / "static")} | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def check(folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return run(folder, environment, "manage.py", "check")


def show(folder: Path, environment: dict[str, str], *names: str) -> dict[str, object]:
    result = run(folder, environment, "-c", SHOW, *names)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def refusal(result: subprocess.CompletedProcess[str]) -> str:
    """The one line of a refused start."""
    lines = result.stderr.splitlines()
    assert result.returncode == 1, result.stderr
    assert len(lines) == 1, result.stderr
    assert result.stdout == ""
    return lines[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"SECRET_KEY": ""}, "SECRET_KEY is missing"),
        ({"SECRET_KEY": "   "}, "SECRET_KEY is missing"),
        ({"SECRET_KEY": "short"}, "SECRET_KEY is too weak"),
        ({"SECRET_KEY": "abcd" * 20}, "SECRET_KEY is too weak"),
        ({"SECRET_KEY": "django-insecure-" + KEY}, "SECRET_KEY is too weak"),
        ({"DATABASE_URL": ""}, "Production refuses SQLite"),
        ({"DATABASE_URL": "sqlite:////tmp/none/db.sqlite3"}, "Production refuses SQLite"),
        ({"DEBUG": "true"}, "DEBUG must be off"),
        ({"SUFFICE_PUBLIC_URL": ""}, "SUFFICE_PUBLIC_URL is missing"),
        ({"SUFFICE_PUBLIC_URL": "http://study.example.org"}, "must begin with https://"),
    ],
)
def test_production_refuses_what_is_unsafe(
    tmp_path: Path, change: dict[str, str], words: str
) -> None:
    assert words in refusal(check(tmp_path, PRODUCTION | change))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SUFFICE_ENV", "prod"),
        ("SUFFICE_ENV", "Production"),
        ("DEBUG", "maybe"),
        ("SUFFICE_DATA_DIR", "/dev/null/data"),
        ("DATABASE_URL", "mysql://root:hunter2@localhost/suffice"),
        ("DATABASE_URL", "postgresql://suffice:hunter2@localhost:port/suffice"),
        ("DATABASE_URL", "postgresql://suffice:hunter2@localhost"),
        ("DATABASE_URL", "sqlite://"),
        ("DATABASE_URL", "sqlite:////dev/null/db.sqlite3"),
        ("DATABASE_URL", "a database"),
        ("DATABASE_MAX_AGE", "long"),
        ("DATABASE_MAX_AGE", "-1"),
        ("CELERY_BROKER_URL", "amqp://guest:hunter2@localhost"),
        ("CELERY_BROKER_URL", "redis://:hunter2@localhost:port/0"),
        ("CELERY_BROKER_URL", "redis"),
        ("SUFFICE_PUBLIC_URL", "study.example.org"),
        ("SUFFICE_PUBLIC_URL", "ftp://study.example.org"),
        ("SUFFICE_PUBLIC_URL", "https://"),
        ("SUFFICE_PUBLIC_URL", "https://study.example.org/suffice"),
        ("SUFFICE_PUBLIC_URL", "https://study.example.org:port"),
        ("SUFFICE_PUBLIC_URL", "https://someone@study.example.org"),
        ("SUFFICE_ALLOWED_HOSTS", "https://other.example.org"),
        ("SUFFICE_ALLOWED_HOSTS", "one.example.org two.example.org"),
        ("SUFFICE_SSL_REDIRECT", "perhaps"),
        ("SUFFICE_BEHIND_PROXY", "2"),
        ("SUFFICE_API_RATE", "often"),
        ("SUFFICE_API_RATE", "0/min"),
        ("SUFFICE_API_FAILURE_RATE", "10/fortnight"),
        ("SUFFICE_API_UPLOAD_MB", "0"),
        ("SUFFICE_SLOT_LEASE_MINUTES", "0"),
        ("SUFFICE_SLOT_LEASE_MINUTES", "two"),
        ("SUFFICE_SLOT_LEASE_MINUTES", "99999999999"),
        ("SUFFICE_JOB_LEASE_SECONDS", "0"),
        ("SUFFICE_JOB_LEASE_SECONDS", "1.5"),
        ("SUFFICE_LOG_LEVEL", "loud"),
    ],
)
def test_a_bad_value_stops_the_start_with_one_line_that_names_the_variable(
    tmp_path: Path, name: str, value: str
) -> None:
    line = refusal(run(tmp_path, {name: value}, "-c", "import studyapp.settings"))
    assert line.startswith((f"{name}:", f"{name}=", f"{name} "))
    assert "hunter2" not in line


def test_a_celery_worker_refuses_in_one_line_too(tmp_path: Path) -> None:
    environment = PRODUCTION | {"SECRET_KEY": ""}
    result = run(tmp_path, environment, "-m", "celery", "-A", "studyapp", "worker")
    assert "SECRET_KEY is missing" in refusal(result)


def test_other_errors_keep_their_traceback(tmp_path: Path) -> None:
    result = run(tmp_path, {}, "-c", "from studyapp import settings; settings.NO_SUCH_NAME")
    assert result.returncode == 1
    assert result.stderr.startswith("Traceback")


def test_production_passes_every_deployment_check(tmp_path: Path) -> None:
    result = run(tmp_path, PRODUCTION, "manage.py", "check", "--deploy", "--fail-level", "WARNING")
    assert result.returncode == 0, result.stderr
    assert "no issues (0 silenced)" in result.stdout


def test_production_may_be_tried_without_https_on_this_machine_only(tmp_path: Path) -> None:
    environment = PRODUCTION | {"SUFFICE_PUBLIC_URL": "http://127.0.0.1:8000/"}
    settings = show(tmp_path, environment, "PUBLIC_URL", "SECURE_SSL_REDIRECT", "ALLOWED_HOSTS")
    assert settings == {
        "PUBLIC_URL": "http://127.0.0.1:8000",
        "SECURE_SSL_REDIRECT": False,
        "ALLOWED_HOSTS": ["127.0.0.1"],
    }


def test_requests_are_counted_in_redis_where_there_is_one(tmp_path: Path) -> None:
    alone = show(tmp_path, {}, "CACHES")["CACHES"]["default"]
    assert alone["BACKEND"].endswith("LocMemCache")
    shared = show(tmp_path, {"CELERY_BROKER_URL": "redis://localhost:6379/3"}, "CACHES")
    assert shared["CACHES"]["default"]["BACKEND"].endswith("RedisCache")
    assert shared["CACHES"]["default"]["LOCATION"] == "redis://localhost:6379/3"


def test_without_any_variable_everything_is_under_the_data_folder(tmp_path: Path) -> None:
    settings = show(
        tmp_path, {}, "DEBUG", "PRODUCTION", "DATABASES", "CELERY_BROKER_URL", "PUBLIC_URL"
    )
    assert settings["DEBUG"] is False
    assert settings["PRODUCTION"] is False
    assert settings["DATABASES"]["default"]["NAME"] == str(tmp_path / "db.sqlite3")
    assert settings["DATABASES"]["default"]["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert settings["CELERY_BROKER_URL"] == "filesystem://localhost"
    assert settings["PUBLIC_URL"] == "http://127.0.0.1:8000"


def test_development_makes_one_key_and_keeps_it_for_its_owner(tmp_path: Path) -> None:
    first = show(tmp_path, {}, "SECRET_KEY")
    assert len(str(first["SECRET_KEY"])) >= 50
    assert show(tmp_path, {}, "SECRET_KEY") == first
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600


def test_production_makes_no_key_of_its_own(tmp_path: Path) -> None:
    refusal(check(tmp_path, PRODUCTION | {"SECRET_KEY": ""}))
    assert not (tmp_path / "secret_key").exists()


def test_missing_folders_are_made(tmp_path: Path) -> None:
    database = tmp_path / "a" / "b" / "study.sqlite3"
    environment = {
        "SUFFICE_DATA_DIR": str(tmp_path / "c" / "d"),
        "DATABASE_URL": f"sqlite:///{database}",
    }
    show(tmp_path, environment, "DEBUG")
    assert database.parent.is_dir()
    assert (tmp_path / "c" / "d").is_dir()


def test_values_are_taken_from_the_environment(tmp_path: Path) -> None:
    environment = PRODUCTION | {
        "CELERY_BROKER_URL": "redis://localhost:6379/3",
        "DATABASE_MAX_AGE": "5",
        "SUFFICE_ALLOWED_HOSTS": "other.example.org, [::1]",
        "SUFFICE_BEHIND_PROXY": "yes",
        "SUFFICE_JOB_LEASE_SECONDS": "7",
        "SUFFICE_LOG_LEVEL": "INFO",
        "SUFFICE_SLOT_LEASE_MINUTES": "30",
        "SUFFICE_SSL_REDIRECT": "off",
    }
    settings = show(
        tmp_path,
        environment,
        "ALLOWED_HOSTS",
        "CELERY_BROKER_URL",
        "DATABASES",
        "JOB_LEASE_SECONDS",
        "LOGGING",
        "SECURE_PROXY_SSL_HEADER",
        "SECURE_SSL_REDIRECT",
        "SESSION_COOKIE_SECURE",
        "SLOT_LEASE_MINUTES",
        "STATIC_ROOT",
    )
    database = settings.pop("DATABASES")["default"]
    assert database["ENGINE"] == "django.db.backends.postgresql"
    assert (database["HOST"], database["PORT"], database["NAME"]) == ("localhost", 5432, "suffice")
    assert database["CONN_MAX_AGE"] == 5
    # Asked before a researcher's request only; a participant's is run again (participant_guard).
    assert database["CONN_HEALTH_CHECKS"] is False
    assert database["OPTIONS"] == {"server_side_binding": True, "prepare_threshold": 2}
    assert settings.pop("LOGGING")["root"]["level"] == "INFO"
    assert settings == {
        "ALLOWED_HOSTS": ["study.example.org", "other.example.org", "[::1]"],
        "CELERY_BROKER_URL": "redis://localhost:6379/3",
        "JOB_LEASE_SECONDS": 7,
        "SECURE_PROXY_SSL_HEADER": ["HTTP_X_FORWARDED_PROTO", "https"],
        "SECURE_SSL_REDIRECT": False,
        "SESSION_COOKIE_SECURE": True,
        "SLOT_LEASE_MINUTES": 30,
        "STATIC_ROOT": str(tmp_path / "static"),
    }


def test_production_does_not_start_without_collected_static_files(tmp_path: Path) -> None:
    line = refusal(run(tmp_path, PRODUCTION, "-c", "import studyapp.wsgi"))
    assert "collectstatic --no-input" in line


#: Asks the WSGI application for a static file and prints the answer's status and headers.
ASK = """
import sys
from wsgiref.util import setup_testing_defaults
from studyapp.wsgi import application
environ = {"PATH_INFO": sys.argv[1]}
setup_testing_defaults(environ)
def start(status, headers, exc_info=None):
    print(status, dict(headers).get("Cache-Control"))
list(application(environ, start))
"""


def test_collected_files_are_served_under_names_that_browsers_may_keep(tmp_path: Path) -> None:
    collected = run(tmp_path, PRODUCTION, "manage.py", "collectstatic", "--no-input")
    assert collected.returncode == 0, collected.stderr
    names = json.loads((tmp_path / "static" / "staticfiles.json").read_text())["paths"]
    hashed = f"/static/{names['css/base.css']}"
    answer = run(tmp_path, PRODUCTION, "-c", ASK, hashed)
    assert answer.stdout.strip() == "200 OK max-age=315360000, public, immutable", answer.stderr
    plain = run(tmp_path, PRODUCTION, "-c", ASK, "/static/css/base.css")
    assert plain.stdout.strip() == "200 OK max-age=3600, public", plain.stderr


def test_secrets_of_prolific_are_read_by_study(tmp_path: Path) -> None:
    given = {
        "PROLIFIC_API_TOKEN": " common , study-a:own= ",
        "PROLIFIC_WEBHOOK_SECRET": "study-a:one,study-a:two",
        "PROLIFIC_API_URL": "http://127.0.0.1:9/api/v1/",
    }
    names = ("PROLIFIC_API_TOKENS", "PROLIFIC_WEBHOOK_SECRETS", "PROLIFIC_API_URL")
    assert show(tmp_path, given, *names) == {
        "PROLIFIC_API_TOKENS": {"": ["common"], "study-a": ["own="]},
        "PROLIFIC_WEBHOOK_SECRETS": {"study-a": ["one", "two"]},
        "PROLIFIC_API_URL": "http://127.0.0.1:9/api/v1",
    }
    assert show(tmp_path, {}, *names) == {
        "PROLIFIC_API_TOKENS": {},
        "PROLIFIC_WEBHOOK_SECRETS": {},
        "PROLIFIC_API_URL": "https://api.prolific.com/api/v1",
    }


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PROLIFIC_API_TOKEN", "two words", "write secret, or slug:secret"),
        ("PROLIFIC_API_TOKEN", "study-a:", "write secret, or slug:secret"),
        ("PROLIFIC_WEBHOOK_SECRET", "a b:secret", "write secret, or slug:secret"),
        ("PROLIFIC_API_URL", "http://api.example.org/v1", "so https"),
        ("PROLIFIC_API_URL", "https://ann:pw@api.example.org", "so https"),
        ("PROLIFIC_API_URL", "api.example.org", "so https"),
    ],
)
def test_what_prolific_cannot_be_asked_with_is_refused_and_not_repeated(
    tmp_path: Path, name: str, value: str, said: str
) -> None:
    line = refusal(check(tmp_path, {name: value}))
    assert line.startswith(f"{name}: ")
    assert said in line
    assert value not in line
