"""Addresses of the REST API, below /api/."""

from django.urls import path, re_path

from studyapp.api import (
    views_claims,
    views_data,
    views_documents,
    views_precompute,
    views_schedule,
    views_studies,
    views_versions,
)

STUDY = "v1/studies/<slug:slug>/"

urlpatterns = [
    path("v1/schema/", views_documents.Schema.as_view(), name="api-schema"),
    path("v1/docs/", views_documents.Docs.as_view(), name="api-docs"),
    path("v1/studies/", views_studies.Studies.as_view(), name="api-studies"),
    path(STUDY, views_studies.OneStudy.as_view(), name="api-study"),
    path(STUDY + "open/", views_studies.OpenStudy.as_view(), name="api-open"),
    path(STUDY + "pause/", views_studies.PauseStudy.as_view(), name="api-pause"),
    path(STUDY + "resume/", views_studies.ResumeStudy.as_view(), name="api-resume"),
    path(STUDY + "close/", views_studies.CloseStudy.as_view(), name="api-close"),
    path(STUDY + "versions/", views_versions.Versions.as_view(), name="api-versions"),
    path(STUDY + "claims/", views_claims.Claims.as_view(), name="api-claims"),
    path(STUDY + "conditions/", views_studies.Conditions.as_view(), name="api-conditions"),
    path(STUDY + "precompute/", views_precompute.Precompute.as_view(), name="api-precompute"),
    path(STUDY + "precompute/retry/", views_precompute.Retry.as_view(), name="api-retry"),
    path(STUDY + "precompute/failures/", views_precompute.Failures.as_view(), name="api-failures"),
    path(STUDY + "schedule/", views_schedule.Schedule.as_view(), name="api-schedule"),
    path(STUDY + "schedule/balance/", views_schedule.Balance.as_view(), name="api-balance"),
    path(STUDY + "participants/", views_data.Participants.as_view(), name="api-participants"),
    path(
        STUDY + "participants/<slug:participant>/",
        views_data.OneParticipant.as_view(),
        name="api-participant",
    ),
    path(STUDY + "trials/", views_data.Trials.as_view(), name="api-trials"),
    path(STUDY + "events/", views_data.Events.as_view(), name="api-events"),
    path(STUDY + "measures/", views_data.Measures.as_view(), name="api-measures"),
    path(STUDY + "export.zip", views_data.Export.as_view(), name="api-export"),
    re_path(r"^.*$", views_documents.Nowhere.as_view()),
]
