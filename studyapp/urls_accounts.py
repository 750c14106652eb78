"""Addresses of logins, accounts and invitations. No page here makes an account by itself."""

from django.contrib.auth.views import LogoutView
from django.urls import include, path
from django.views.decorators.http import require_safe
from two_factor.views import QRGeneratorView

from studyapp.views import login
from studyapp.views.api_token import api_token
from studyapp.views.invitation import invitation

second_factor = (
    [
        path("", require_safe(login.Account.as_view()), name="profile"),
        path("second-factor/", login.SecondFactorSetup.as_view(), name="setup"),
        path("second-factor/qr.svg", require_safe(QRGeneratorView.as_view()), name="qr"),
        path(
            "second-factor/ready/",
            require_safe(login.second_factor_only(login.SecondFactorReady.as_view())),
            name="setup_complete",
        ),
        path(
            "second-factor/backup/",
            login.second_factor_only(login.BackupCodes.as_view()),
            name="backup_tokens",
        ),
        path(
            "second-factor/off/",
            login.second_factor_only(login.SecondFactorOff.as_view()),
            name="disable",
        ),
    ],
    "two_factor",
)

urlpatterns = [
    path("login/", login.Login.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("account/", include(second_factor)),
    path("account/api-token/", api_token, name="api-token"),
    path("account/password/", login.PasswordChange.as_view(), name="password-change"),
    path("account/password/<uidb64>/<token>/", login.PasswordSet.as_view(), name="password-set"),
    path("invitations/<str:token>/", invitation, name="invitation"),
]
