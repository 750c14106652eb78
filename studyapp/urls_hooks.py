"""Addresses that other services call, below ``/hooks/``."""

from django.urls import path

from studyapp.views import hooks

urlpatterns = [
    path("prolific/<slug:study_code>/", hooks.prolific, name="hook-prolific"),
]
