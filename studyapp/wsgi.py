"""The WSGI application, with static files served in front of Django."""

import os

from django.core.wsgi import get_wsgi_application
from whitenoise import WhiteNoise

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studyapp.settings")
_django = get_wsgi_application()


def _with_static_files() -> WhiteNoise:
    from django.conf import settings

    collected = settings.STATIC_ROOT.is_dir() and settings.PRODUCTION
    # Without collected files (a laptop), the source folder is served as it is.
    root = settings.STATIC_ROOT if collected else settings.STATICFILES_DIRS[0]
    return WhiteNoise(
        _django,
        root=str(root),
        prefix=settings.STATIC_URL,
        autorefresh=not settings.PRODUCTION,
        max_age=60 if not settings.PRODUCTION else 3600,
    )


application = _with_static_files()
