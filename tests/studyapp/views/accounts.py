"""What a researcher's browser sends to log in, with and without a second factor."""

from __future__ import annotations

import time
from typing import Any

from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice

#: Hashing a password takes its time on purpose; tests that log in many times use this one.
QUICK_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
PASSWORD = "correct horse battery"
STEP_SECONDS = 30


def researcher(name: str, **fields: Any) -> Any:
    return get_user_model().objects.create_user(name, password=PASSWORD, **fields)


def client_of(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def device_of(user: Any) -> TOTPDevice:
    """A confirmed authenticator app."""
    return TOTPDevice.objects.create(user=user, name="default", confirmed=True)


def code_of(device: TOTPDevice, steps: int = 0) -> str:
    """The six digits that the app shows now, or so many steps of 30 seconds later."""
    drift = int(time.time()) // STEP_SECONDS + steps
    return f"{totp(device.bin_key, STEP_SECONDS, int(time.time()) - drift * STEP_SECONDS):06d}"


def send_login(client: Client, name: str, password: str = PASSWORD, **more: Any) -> Any:
    """The login form with name and password; ``more`` are other fields or headers."""
    headers = more.pop("headers", {})
    fields = {"auth-username": name, "auth-password": password, "login-current_step": "auth"}
    return client.post(reverse("login"), fields | more, headers=headers)


def send_code(client: Client, code: str, step: str = "token") -> Any:
    fields = {f"{step}-otp_token": code, "login-current_step": step}
    return client.post(reverse("login"), fields)


def is_logged_in(client: Client) -> bool:
    return client.get(reverse("study-list")).status_code == 200
