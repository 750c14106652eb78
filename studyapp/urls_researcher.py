"""Researchers' addresses."""

from django.urls import include, path

from studyapp.views import (
    researcher,
    researcher_access,
    researcher_blind,
    researcher_delete,
    researcher_exports,
    researcher_import,
    researcher_links,
    researcher_monitor,
    researcher_participant,
    researcher_participants,
    researcher_power,
    researcher_preview,
    researcher_prolific,
    researcher_rankings,
    researcher_records,
    researcher_results,
    researcher_setup,
    researcher_setup_claims,
    researcher_setup_conditions,
    researcher_setup_review,
    researcher_setup_schedule,
    researcher_setup_sitting,
    researcher_versions,
)

SETUP = "studies/<slug:slug>/setup/"

setup_patterns = [
    path("new/", researcher_setup.new_study, name="setup-new"),
    path("new/from-export/", researcher_import.import_export, name="import-export"),
    path(SETUP, researcher_setup.setup, name="setup"),
    path(SETUP + "basics/", researcher_setup.basics, name="setup-basics"),
    path(SETUP + "texts/", researcher_setup.texts, name="setup-texts"),
    path(SETUP + "texts/preview", researcher_setup.text_preview, name="setup-text-preview"),
    path(SETUP + "claims/", researcher_setup_claims.claims, name="setup-claims"),
    path(SETUP + "claims/remove", researcher_setup_claims.remove, name="setup-claims-remove"),
    path(
        SETUP + "claims/files/<slug:token>/",
        researcher_setup_claims.report,
        name="setup-claims-report",
    ),
    path(
        SETUP + "claims/files/<slug:token>/problems.csv",
        researcher_setup_claims.problems,
        name="setup-claims-problems",
    ),
    path(
        SETUP + "claims/remarks/<slug:token>/",
        researcher_setup_claims.notices,
        name="setup-claims-notices",
    ),
    path(SETUP + "conditions/", researcher_setup_conditions.conditions, name="setup-conditions"),
    path(
        SETUP + "conditions/new/<slug:method>/",
        researcher_setup_conditions.new_condition,
        name="setup-condition-new",
    ),
    path(
        SETUP + "conditions/<int:condition_id>/",
        researcher_setup_conditions.condition,
        name="setup-condition",
    ),
    path(
        SETUP + "conditions/<int:condition_id>/move",
        researcher_setup_conditions.move,
        name="setup-condition-move",
    ),
    path(
        SETUP + "conditions/<int:condition_id>/remove/",
        researcher_setup_conditions.remove,
        name="setup-condition-remove",
    ),
    path(SETUP + "schedule/", researcher_setup_schedule.schedule, name="setup-schedule"),
    path(SETUP + "schedule/remove", researcher_setup_schedule.remove, name="setup-schedule-remove"),
    path(SETUP + "sitting/", researcher_setup_sitting.sitting, name="setup-sitting"),
    path(
        SETUP + "questionnaire/",
        researcher_setup_sitting.questionnaire,
        name="setup-questionnaire",
    ),
    path(SETUP + "recruiting/", researcher_setup_sitting.recruiting, name="setup-recruiting"),
    path(SETUP + "ending/", researcher_setup_sitting.ending, name="setup-ending"),
    path(SETUP + "analysis/", researcher_setup_sitting.analysis, name="setup-analysis"),
    path(SETUP + "review/", researcher_setup_review.review, name="setup-review"),
]

PARTICIPANTS = "studies/<slug:slug>/participants/"

participants_patterns = [
    path("studies/<slug:slug>/monitor/", researcher_monitor.study_monitor, name="study-monitor"),
    path(
        "studies/<slug:slug>/monitor/claims/",
        researcher_monitor.monitor_claims,
        name="monitor-claims",
    ),
    path(PARTICIPANTS, researcher_participants.study_participants, name="study-participants"),
    path(
        PARTICIPANTS + "payments.csv",
        researcher_participants.study_payments,
        name="study-payments",
    ),
    path(
        PARTICIPANTS + "<slug:participant>/",
        researcher_participant.study_participant,
        name="study-participant",
    ),
    path(
        PARTICIPANTS + "<slug:participant>/recruiter-id/",
        researcher_participant.participant_recruiter_id,
        name="participant-recruiter-id",
    ),
    path(
        PARTICIPANTS + "<slug:participant>/delete/",
        researcher_delete.participant_delete,
        name="participant-delete",
    ),
    path(
        PARTICIPANTS + "<slug:participant>/<slug:action>/",
        researcher_participant.participant_action,
        name="participant-action",
    ),
]

RANKINGS = "studies/<slug:slug>/rankings/"

rankings_patterns = [
    path(
        "studies/<slug:slug>/precompute/<int:job_id>/retry/",
        researcher_rankings.job_retry,
        name="job-retry",
    ),
    path(
        "studies/<slug:slug>/precompute/<int:job_id>/reply/",
        researcher_rankings.job_reply,
        name="job-reply",
    ),
    path(RANKINGS, researcher_rankings.study_rankings, name="study-rankings"),
    path(RANKINGS + "estimate", researcher_rankings.rankings_estimate, name="rankings-estimate"),
    path(RANKINGS + "limit", researcher_rankings.study_spending, name="study-spending"),
    path(
        RANKINGS + "<slug:condition>/<int:position>/",
        researcher_preview.rankings_preview,
        name="rankings-preview",
    ),
]

urlpatterns = [
    *setup_patterns,
    *participants_patterns,
    path("", researcher.study_list, name="study-list"),
    path("studies/<slug:slug>/", researcher.study, name="study"),
    path("studies/<slug:slug>/precompute/", researcher.study_precompute, name="study-precompute"),
    *rankings_patterns,
    path("studies/<slug:slug>/open/", researcher.study_open, name="study-open"),
    path("studies/<slug:slug>/pause/", researcher.study_pause, name="study-pause"),
    path("studies/<slug:slug>/resume/", researcher.study_resume, name="study-resume"),
    path("studies/<slug:slug>/close/", researcher.study_close, name="study-close"),
    path("studies/<slug:slug>/delete/", researcher_delete.study_delete, name="study-delete"),
    path("studies/<slug:slug>/export.zip", researcher_exports.study_export, name="study-export"),
    path("studies/<slug:slug>/exports/", researcher_exports.study_exports, name="study-exports"),
    path(
        "studies/<slug:slug>/exports/<int:export_id>/file.zip",
        researcher_exports.export_download,
        name="export-download",
    ),
    path(
        "studies/<slug:slug>/exports/<int:export_id>/retry/",
        researcher_exports.export_retry,
        name="export-retry",
    ),
    path(
        "studies/<slug:slug>/exports/<int:export_id>/delete/",
        researcher_exports.export_delete,
        name="export-delete",
    ),
    path("studies/<slug:slug>/measures/", researcher_results.study_measures, name="study-measures"),
    path("studies/<slug:slug>/unblind/", researcher_blind.study_unblind, name="study-unblind"),
    path("studies/<slug:slug>/power/", researcher_power.study_power, name="study-power"),
    path("studies/<slug:slug>/report/", researcher_results.study_report, name="study-report"),
    path(
        "studies/<slug:slug>/report.zip", researcher_results.report_download, name="report-download"
    ),
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
    path(
        "studies/<slug:slug>/prolific/", researcher_prolific.study_prolific, name="study-prolific"
    ),
    path(
        "studies/<slug:slug>/prolific/test/",
        researcher_prolific.prolific_test,
        name="prolific-test",
    ),
    path(
        "studies/<slug:slug>/prolific/sync/",
        researcher_prolific.prolific_sync,
        name="prolific-sync",
    ),
    path(
        "studies/<slug:slug>/prolific/calls/<int:call_id>/retry/",
        researcher_prolific.prolific_call_retry,
        name="prolific-call-retry",
    ),
    path(
        "studies/<slug:slug>/recruiting/",
        researcher_links.study_recruiting,
        name="study-recruiting",
    ),
    path("studies/<slug:slug>/recruiting/links", researcher_links.links_make, name="links-make"),
    path("studies/<slug:slug>/recruiting/links.csv", researcher_links.links_csv, name="links-csv"),
    path("studies/<slug:slug>/recruiting/pilot", researcher_links.pilot_link, name="pilot-link"),
    path(
        "studies/<slug:slug>/recruiting/links/<int:link_id>/revoke",
        researcher_links.link_revoke,
        name="link-revoke",
    ),
    path(
        "studies/<slug:slug>/recruiting/links/<int:link_id>/renew",
        researcher_links.link_renew,
        name="link-renew",
    ),
    path(
        "studies/<slug:slug>/versions/", researcher_versions.study_versions, name="study-versions"
    ),
    path("studies/<slug:slug>/versions/new/", researcher_versions.version_new, name="version-new"),
    path("studies/<slug:slug>/log/", researcher_records.study_log, name="study-log"),
    path("studies/<slug:slug>/consent/", researcher_records.study_consent, name="study-consent"),
    path("", include("studyapp.urls_schedule")),
    path("", include("studyapp.urls_accounts")),
    path("healthz", researcher.healthz, name="healthz"),
]
