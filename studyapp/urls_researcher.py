"""Researchers' addresses."""

from django.urls import include, path

from studyapp.views import researcher, researcher_access, researcher_records

urlpatterns = [
    path("", researcher.study_list, name="study-list"),
    path("studies/<slug:slug>/", researcher.study, name="study"),
    path("studies/<slug:slug>/precompute/", researcher.study_precompute, name="study-precompute"),
    path(
        "studies/<slug:slug>/precompute/<int:job_id>/retry/", researcher.job_retry, name="job-retry"
    ),
    path(
        "studies/<slug:slug>/precompute/<int:job_id>/reply/", researcher.job_reply, name="job-reply"
    ),
    path("studies/<slug:slug>/open/", researcher.study_open, name="study-open"),
    path("studies/<slug:slug>/pause/", researcher.study_pause, name="study-pause"),
    path("studies/<slug:slug>/resume/", researcher.study_resume, name="study-resume"),
    path("studies/<slug:slug>/close/", researcher.study_close, name="study-close"),
    path("studies/<slug:slug>/export.zip", researcher.study_export, name="study-export"),
    path("studies/<slug:slug>/measures/", researcher.study_measures, name="study-measures"),
    path("studies/<slug:slug>/members/", researcher_access.study_members, name="study-members"),
    path(
        "studies/<slug:slug>/members/invite/", researcher_access.study_invite, name="study-invite"
    ),
    path("studies/<slug:slug>/members/leave/", researcher_access.member_leave, name="member-leave"),
    path(
        "studies/<slug:slug>/members/<int:member_id>/role/",
        researcher_access.member_role,
        name="member-role",
    ),
    path(
        "studies/<slug:slug>/members/<int:member_id>/remove/",
        researcher_access.member_remove,
        name="member-remove",
    ),
    path(
        "studies/<slug:slug>/invitations/<int:invitation_id>/revoke/",
        researcher_access.invitation_revoke,
        name="invitation-revoke",
    ),
    path("studies/<slug:slug>/log/", researcher_records.study_log, name="study-log"),
    path("studies/<slug:slug>/consent/", researcher_records.study_consent, name="study-consent"),
    path("", include("studyapp.urls_accounts")),
    path("healthz", researcher.healthz, name="healthz"),
]
