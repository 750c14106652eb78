"""Addresses of the REST API, below /api/."""

from django.urls import path, re_path

from studyapp.api import (
    views_claims,
    views_data,
    views_documents,
    views_exports,
    views_precompute,
    views_schedule,
    views_studies,
    views_versions,
)

STUDY = "v1/studies/<slug:slug>/"
SLOT = STUDY + "slots/<int:replication>.<int:number>/"
SUBSET = STUDY + "subsets/<int:number>/"

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
    path(STUDY + "precompute/estimate/", views_precompute.Estimates.as_view(), name="api-estimate"),
    path(
        STUDY + "precompute/spending/",
        views_precompute.SpendingLimits.as_view(),
        name="api-spending",
    ),
    path(STUDY + "precompute/failures/", views_precompute.Failures.as_view(), name="api-failures"),
    path(STUDY + "schedule/", views_schedule.Schedule.as_view(), name="api-schedule"),
    path(STUDY + "schedule/balance/", views_schedule.Balance.as_view(), name="api-balance"),
    path(STUDY + "schedule/cycles/", views_schedule.Cycles.as_view(), name="api-cycles"),
    path(SLOT + "close/", views_schedule.CloseSlot.as_view(), name="api-slot-close"),
    path(SLOT + "reopen/", views_schedule.ReopenSlot.as_view(), name="api-slot-reopen"),
    path(SUBSET + "close/", views_schedule.CloseSubset.as_view(), name="api-subset-close"),
    path(SUBSET + "reopen/", views_schedule.ReopenSubset.as_view(), name="api-subset-reopen"),
    path(STUDY + "participants/", views_data.Participants.as_view(), name="api-participants"),
    path(
        STUDY + "participants/<slug:participant>/",
        views_data.OneParticipant.as_view(),
        name="api-participant",
    ),
    path(
        STUDY + "participants/<slug:participant>/<slug:action>/",
        views_data.ParticipantAction.as_view(),
        name="api-participant-action",
    ),
    path(STUDY + "trials/", views_data.Trials.as_view(), name="api-trials"),
    path(STUDY + "events/", views_data.Events.as_view(), name="api-events"),
    path(STUDY + "measures/", views_data.Measures.as_view(), name="api-measures"),
    path(STUDY + "export.zip", views_data.Export.as_view(), name="api-export"),
    path(STUDY + "exports/", views_exports.Exports.as_view(), name="api-exports"),
    path(
        STUDY + "exports/<int:export_id>/", views_exports.OneExport.as_view(), name="api-export-job"
    ),
    path(
        STUDY + "exports/<int:export_id>/file.zip",
        views_exports.ExportFile.as_view(),
        name="api-export-file",
    ),
    re_path(r"^.*$", views_documents.Nowhere.as_view()),
]
