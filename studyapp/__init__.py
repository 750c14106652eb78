"""The Django project and its one app."""

from studyapp.celery import app as celery_app

__all__ = ["celery_app"]
