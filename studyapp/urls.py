"""Addresses: participants under /p/, everything else for researchers."""

from django.urls import include, path

urlpatterns = [
    path("p/", include("studyapp.urls_participant")),
    path("", include("studyapp.urls_researcher")),
]
