"""Settings, from the environment only. README lists every variable."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import dj_database_url
import drf_spectacular_sidecar

from studyapp.environment import (
    BadEnvironment,
    env_api,
    env_bool,
    env_broker,
    env_choice,
    env_hosts,
    env_int,
    env_origin,
    env_rate,
    env_secrets,
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
    "django_otp",
    "django_otp.plugins.otp_static",
    "django_otp.plugins.otp_totp",
    "two_factor",
    "axes",
    "rest_framework",
    "rest_framework.authtoken",
    "drf_spectacular",
    "studyapp.apps.StudyAppConfig",
]

# Sessions, logins and messages belong to researchers: participant pages skip these layers and are
# guarded by the run token in the address (studyapp/middleware.py). The throttle of logins only asks
# whether the answer refused a login.
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "studyapp.middleware.PagePolicy",
    "studyapp.middleware.UploadLimit",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "studyapp.middleware.ReadableText",
    "studyapp.middleware.ResearcherSession",
    "django.middleware.csrf.CsrfViewMiddleware",
    "studyapp.middleware.ResearcherAuthentication",
    "studyapp.middleware.ResearcherSecondFactor",
    "studyapp.middleware.ResearcherMessages",
    "studyapp.middleware.ResearcherAudit",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "studyapp.urls"
WSGI_APPLICATION = "studyapp.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            # Nothing on participants' pages, whose requests carry no messages.
            "context_processors": ["django.contrib.messages.context_processors.messages"],
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

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
_VALIDATORS = "django.contrib.auth.password_validation"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"{_VALIDATORS}.UserAttributeSimilarityValidator"},
    {"NAME": f"{_VALIDATORS}.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": f"{_VALIDATORS}.CommonPasswordValidator"},
    {"NAME": f"{_VALIDATORS}.NumericPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "study-list"
LOGOUT_REDIRECT_URL = "login"
CSRF_FAILURE_VIEW = "studyapp.views.old_form.old_form"
#: How long the link that sets a password works, in seconds.
PASSWORD_RESET_TIMEOUT = 3 * 24 * 3600

#: Whether researchers' pages ask for a second factor (an authenticator app), or only offer it.
REQUIRE_2FA = env_bool("SUFFICE_REQUIRE_2FA", False)
TWO_FACTOR_PATCH_ADMIN = False
TWO_FACTOR_LOGIN_TIMEOUT = 600

# Wrong passwords are counted for the name and for the address; either can be locked. A lock ends by
# itself. Nothing else about logins is kept: no log of good ones, no passwords.
LOGIN_FAILURES = env_int("SUFFICE_LOGIN_FAILURES", 10, minimum=1)
LOGIN_LOCK_MINUTES = env_int("SUFFICE_LOGIN_LOCK_MINUTES", 15, minimum=1)
#: Proxies of ours before the web process; so many addresses of X-Forwarded-For are believed. Behind
#: a proxy that is not counted, all visitors would share one address, and one lock.
BEHIND_PROXY = env_bool("SUFFICE_BEHIND_PROXY", False)
TRUSTED_PROXIES = env_int("SUFFICE_TRUSTED_PROXIES", 1 if BEHIND_PROXY else 0)
AXES_FAILURE_LIMIT = LOGIN_FAILURES
AXES_COOLOFF_TIME = timedelta(minutes=LOGIN_LOCK_MINUTES)
AXES_LOCKOUT_PARAMETERS = ["username", "ip_address"]
AXES_LOCKOUT_CALLABLE = "studyapp.views.login.locked_out"
AXES_CLIENT_IP_CALLABLE = "studyapp.throttle.client_address"
AXES_USERNAME_CALLABLE = "studyapp.throttle.tried_name"
AXES_PASSWORD_FORM_FIELD = "auth-password"
# Trying again while locked does not make the lock longer: the time that the page names holds.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False

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
#: The page of the REST API's documents, from its wheel; our own files come first.
SWAGGER_UI = Path(drf_spectacular_sidecar.__file__).parent.joinpath(
    "static", "drf_spectacular_sidecar", "swagger-ui-dist"
)
STATICFILES_DIRS = [BASE_DIR / "static", ("swagger-ui", SWAGGER_UI)]
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
if PRODUCTION:
    STORAGES = {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
    }

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_HOURS = env_int("SUFFICE_SESSION_HOURS", 12, minimum=1)
SESSION_COOKIE_AGE = SESSION_HOURS * 3600
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
HTTPS = _public.scheme == "https"
if PRODUCTION and not HTTPS and _public.hostname not in ("127.0.0.1", "localhost"):
    raise BadEnvironment("SUFFICE_PUBLIC_URL must begin with https:// in production.")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PRODUCTION
SECURE_SSL_REDIRECT = env_bool("SUFFICE_SSL_REDIRECT", True) and HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS

#: The largest upload, in megabytes of a million bytes: a claims file of about 20,000 claims.
MAX_UPLOAD_MB = env_int("SUFFICE_MAX_UPLOAD_MB", 200, minimum=1)
#: How long a participant keeps a slot without doing anything, unless the study says otherwise.
SLOT_LEASE_MINUTES = env_int("SUFFICE_SLOT_LEASE_MINUTES", 120, minimum=1)
#: How long a worker keeps a precompute job without renewing, in seconds.
JOB_LEASE_SECONDS = env_int("SUFFICE_JOB_LEASE_SECONDS", 60, minimum=1)

#: Prolific's API, the tokens it takes, and the secrets its messages are signed with: by the slug of
#: a study, or "" for those that are not named. They are kept nowhere else.
PROLIFIC_API_URL = env_api("PROLIFIC_API_URL", "https://api.prolific.com/api/v1")
PROLIFIC_API_TOKENS = env_secrets("PROLIFIC_API_TOKEN")
PROLIFIC_WEBHOOK_SECRETS = env_secrets("PROLIFIC_WEBHOOK_SECRET")

#: How often one token may ask the REST API, and one address may be wrong about its token.
API_RATE = env_rate("SUFFICE_API_RATE", "600/min")
API_FAILURE_RATE = env_rate("SUFFICE_API_FAILURE_RATE", "30/min")
#: The largest bodies that the REST API takes: of JSON, and of a file of claims.
API_JSON_BYTES = 1_000_000
API_UPLOAD_BYTES = env_int("SUFFICE_API_UPLOAD_MB", 100, minimum=1) * 1_000_000

# Requests are counted where all web processes see it if there is such a place.
if CELERY_BROKER_URL.startswith("redis"):
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": CELERY_BROKER_URL,
            "KEY_PREFIX": "suffice",
            "OPTIONS": {"socket_timeout": 1, "socket_connect_timeout": 1},
        }
    }
else:
    CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["studyapp.api.authentication.ResearcherToken"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_THROTTLE_CLASSES": ["studyapp.api.throttles.TokenThrottle"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["studyapp.api.parsers.StrictJson"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "studyapp.api.negotiation.JsonAlways",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_METADATA_CLASS": None,
    "EXCEPTION_HANDLER": "studyapp.api.errors.answer_error",
    "URL_FORMAT_OVERRIDE": None,
    "NUM_PROXIES": TRUSTED_PROXIES,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Suffice",
    "VERSION": "1",
    "DESCRIPTION": "Studies, their claims, conditions, schedule, participants and results.",
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "POSTPROCESSING_HOOKS": ["studyapp.api.schema.complete"],
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    # In the order of the addresses, which is that of the work.
    "SORT_OPERATIONS": False,
}

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
