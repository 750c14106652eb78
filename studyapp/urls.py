"""Addresses: participants under /p/, programs under /api/, other services under /hooks/.

Everything else is for researchers.
"""

from django.urls import include, path

handler400 = "studyapp.api.errors.bad_request"
handler403 = "studyapp.views.errors.refused"
handler404 = "studyapp.views.errors.not_found"
handler500 = "studyapp.api.errors.server_error"

urlpatterns = [
    path("p/", include("studyapp.urls_participant")),
    path("api/", include("studyapp.api.urls")),
    path("hooks/", include("studyapp.urls_hooks")),
    path("", include("studyapp.urls_researcher")),
]
