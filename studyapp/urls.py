"""Addresses: participants under /p/, programs under /api/, everything else for researchers."""

from django.urls import include, path

urlpatterns = [
    path("p/", include("studyapp.urls_participant")),
    path("api/", include("studyapp.api.urls")),
    path("", include("studyapp.urls_researcher")),
]

# Below /api/ these answer as everything there does; elsewhere with a page.
handler400 = "studyapp.api.errors.bad_request"
handler500 = "studyapp.api.errors.server_error"
