"""Addresses: participants under /p/, everything else for researchers."""

from django.urls import include, path

handler400 = "studyapp.views.errors.bad_request"
handler403 = "studyapp.views.errors.refused"
handler404 = "studyapp.views.errors.not_found"
handler500 = "studyapp.views.errors.server_error"

urlpatterns = [
    path("p/", include("studyapp.urls_participant")),
    path("", include("studyapp.urls_researcher")),
]
