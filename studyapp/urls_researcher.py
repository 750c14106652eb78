"""Researchers' addresses."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from studyapp.forms import LoginForm
from studyapp.views import researcher, researcher_power, researcher_results

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
    path("studies/<slug:slug>/measures/", researcher_results.study_measures, name="study-measures"),
    path("studies/<slug:slug>/power/", researcher_power.study_power, name="study-power"),
    path("studies/<slug:slug>/report/", researcher_results.study_report, name="study-report"),
    path(
        "studies/<slug:slug>/report.zip", researcher_results.report_download, name="report-download"
    ),
    path(
        "login/",
        LoginView.as_view(authentication_form=LoginForm, redirect_authenticated_user=True),
        name="login",
    ),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("healthz", researcher.healthz, name="healthz"),
]
