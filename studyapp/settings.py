"""Settings, from the environment only. README lists every variable."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import dj_database_url

from studyapp.environment import (
    BadEnvironment,
    env_bool,
    env_broker,
    env_choice,
    env_hosts,
    env_int,
    env_origin,
    env_str,
    kept_secret,
    made_folder,
    say_bad_environment_in_one_line,
)

say_bad_environment_in_one_line()

BASE_DIR = Path(__file__).resolve().parent.parent
SUFFICE_ENV = env_choice("SUFFICE_ENV", "development", ("development", "production"))
PRODUCTION = SUFFICE_ENV == "production"
DATA_DIR = Path(env_str("SUFFICE_DATA_DIR", str(BASE_DIR / "var"))).resolve()
made_folder("SUFFICE_DATA_DIR", DATA_DIR)

DEBUG = env_bool("DEBUG", False)
if PRODUCTION and DEBUG:
    raise BadEnvironment("DEBUG must be off in production: unset DEBUG.")

SECRET_KEY = env_str("SECRET_KEY")
if not SECRET_KEY:
    if PRODUCTION:
        raise BadEnvironment("SECRET_KEY is missing: set it to a long random text.")
    SECRET_KEY = kept_secret(DATA_DIR / "secret_key")
if PRODUCTION and (
    len(SECRET_KEY) < 50 or len(set(SECRET_KEY)) < 5 or SECRET_KEY.startswith("django-insecure-")
):
    raise BadEnvironment("SECRET_KEY is too weak: use at least 50 random characters.")

PUBLIC_URL = env_origin("SUFFICE_PUBLIC_URL", "" if PRODUCTION else "http://127.0.0.1:8000")
if PRODUCTION and not PUBLIC_URL:
    raise BadEnvironment("SUFFICE_PUBLIC_URL is missing: set it to the study's address.")
_public = urlsplit(PUBLIC_URL)
ALLOWED_HOSTS = [_public.hostname, *env_hosts("SUFFICE_ALLOWED_HOSTS")]
if not PRODUCTION:
    ALLOWED_HOSTS += ["127.0.0.1", "localhost", "[::1]"]
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "studyapp.apps.StudyAppConfig",
]

# Sessions, logins and messages belong to researchers: participant pages skip these layers and are
# guarded by the run token in the address (studyapp/middleware.py).
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "studyapp.middleware.PagePolicy",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "studyapp.middleware.ReadableText",
    "studyapp.middleware.ResearcherSession",
    "django.middleware.csrf.CsrfViewMiddleware",
    "studyapp.middleware.ResearcherAuthentication",
    "studyapp.middleware.ResearcherMessages",
]

ROOT_URLCONF = "studyapp.urls"
WSGI_APPLICATION = "studyapp.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["django.template.loaders.filesystem.Loader"],
                )
            ],
            "builtins": ["django.templatetags.static", "django.templatetags.i18n"],
        },
    }
]

DATABASE_MAX_AGE = env_int("DATABASE_MAX_AGE", 600)
_database_url = env_str("DATABASE_URL", f"sqlite:///{DATA_DIR / 'db.sqlite3'}")
try:
    _database = dj_database_url.parse(_database_url, conn_max_age=DATABASE_MAX_AGE)
except Exception as error:
    raise BadEnvironment(
        f"DATABASE_URL cannot be read ({type(error).__name__}): use postgresql://user:password@"
        "host:5432/name or sqlite:////absolute/path.sqlite3."
    ) from None
if not _database["NAME"] or _database["NAME"] == ":memory:":
    raise BadEnvironment("DATABASE_URL names no database: end it with a name or a file's path.")
if _database["ENGINE"] == "django.db.backends.sqlite3":
    if PRODUCTION:
        raise BadEnvironment("Production refuses SQLite: point DATABASE_URL to PostgreSQL.")
    made_folder("DATABASE_URL", Path(_database["NAME"]).parent)
    _database["CONN_MAX_AGE"] = 0
    # Immediate transactions make writers wait for each other instead of failing half-way.
    # FULL: what was answered to a participant is on the disk, also after a power cut.
    _database["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
        # So that INSERT OR REPLACE does not slip past the guards against deletion.
        "PRAGMA recursive_triggers=ON; "
        # What is deleted is overwritten, so that no text of a withdrawn run stays in the file.
        "PRAGMA secure_delete=ON;",
    }
elif _database["ENGINE"] == "django.db.backends.postgresql":
    # Statements that come again and again are planned once a connection: half of the database's
    # work for a participant's page was planning.
    _database["OPTIONS"] = _database.get("OPTIONS", {}) | {
        "server_side_binding": True,
        "prepare_threshold": 2,
    }
else:
    raise BadEnvironment("DATABASE_URL: only PostgreSQL and SQLite are supported.")
DATABASES = {"default": _database}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# With a host, which files do not need: without one Celery warns that it takes localhost.
CELERY_BROKER_URL = env_broker("CELERY_BROKER_URL", "filesystem://localhost")

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "study-list"
LOGOUT_REDIRECT_URL = "login"

# Researchers' pages are in English; participants' in the language of their study where it is one of
# these (domain/languages.py). Another language needs its line here and its catalogue.
LANGUAGE_CODE = "en-gb"
LANGUAGES = [("en-gb", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [BASE_DIR / "studyapp" / "locale"]
USE_I18N = True
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = Path(env_str("SUFFICE_STATIC_DIR", str(DATA_DIR / "static"))).resolve()
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
if PRODUCTION:
    STORAGES = {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
    }

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
HTTPS = _public.scheme == "https"
if PRODUCTION and not HTTPS and _public.hostname not in ("127.0.0.1", "localhost"):
    raise BadEnvironment("SUFFICE_PUBLIC_URL must begin with https:// in production.")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PRODUCTION
SECURE_SSL_REDIRECT = env_bool("SUFFICE_SSL_REDIRECT", True) and HTTPS
SECURE_PROXY_SSL_HEADER = (
    ("HTTP_X_FORWARDED_PROTO", "https") if env_bool("SUFFICE_BEHIND_PROXY", False) else None
)
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS

#: How long a participant keeps a slot without doing anything, unless the study says otherwise.
SLOT_LEASE_MINUTES = env_int("SUFFICE_SLOT_LEASE_MINUTES", 120, minimum=1)
#: How long a worker keeps a precompute job without renewing, in seconds.
JOB_LEASE_SECONDS = env_int("SUFFICE_JOB_LEASE_SECONDS", 60, minimum=1)

LOG_LEVEL = env_choice(
    "SUFFICE_LOG_LEVEL", "WARNING", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"keys": {"()": "studyapp.masked_logs.MaskedKeys"}},
    "formatters": {"plain": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": "plain",
            # An address of a participant is the key to a run: it stands in no log.
            "filters": ["keys"],
        }
    },
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    # Django's own handlers write addresses as they are: everything goes over the one above.
    "loggers": {
        "django": {"handlers": [], "level": "INFO"},
        "django.server": {"handlers": [], "level": "INFO", "propagate": True},
    },
}
