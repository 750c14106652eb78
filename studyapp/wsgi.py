"""The WSGI application, with static files served in front of Django."""

import os

from django.core.wsgi import get_wsgi_application
from whitenoise import WhiteNoise

from studyapp.charsets import without_odd_charsets

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studyapp.settings")
_django = without_odd_charsets(get_wsgi_application())

#: Names that collectstatic gives; what such a name holds never changes.
HASHED_NAME = r"^.+\.[0-9a-f]{12}\..+$"


def _with_static_files() -> WhiteNoise:
    from django.conf import settings

    from studyapp.environment import BadEnvironment

    if not settings.PRODUCTION:
        # On a laptop the source folders are served as they are.
        served = WhiteNoise(
            _django,
            root=str(settings.STATICFILES_DIRS[0]),
            prefix=settings.STATIC_URL,
            autorefresh=True,
            max_age=60,
        )
        for prefix, folder in settings.STATICFILES_DIRS[1:]:
            served.add_files(str(folder), prefix=f"{settings.STATIC_URL}{prefix}/")
        return served
    if not (settings.STATIC_ROOT / "staticfiles.json").is_file():
        # Without the collected names every page would end in an error.
        raise BadEnvironment(
            f"{settings.STATIC_ROOT} has no collected static files: run "
            "'python manage.py collectstatic --no-input' with the same environment."
        )
    return WhiteNoise(
        _django,
        root=str(settings.STATIC_ROOT),
        prefix=settings.STATIC_URL,
        max_age=3600,
        immutable_file_test=HASHED_NAME,
    )


application = _with_static_files()
