"""The demo study from fixtures/: made step by step, each step only if it is still missing."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction

from studyapp.domain.configuration import create_study, read_configuration
from studyapp.domain.importing import import_claims
from studyapp.domain.schedule import lay_out
from studyapp.enums import TrialKind
from studyapp.models import Study

FIXTURES = Path(settings.BASE_DIR) / "fixtures"
RESEARCHER = "researcher"
#: The demo's files of claims and the trials they are for.
CLAIMS = {
    "demo_claims.jsonl": TrialKind.MAIN,
    "demo_practice.jsonl": TrialKind.PRACTICE,
    "demo_attention.jsonl": TrialKind.ATTENTION,
}


def demo_researcher() -> tuple[str, str]:
    """The demo's login, made once: name and password, kept in a file only its owner can read."""
    path = Path(settings.DATA_DIR) / "demo_password"
    users = get_user_model().objects
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as handle:
            handle.write(secrets.token_urlsafe(12))
    password = path.read_text().strip()
    user, _ = users.get_or_create(username=RESEARCHER)
    if not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    return RESEARCHER, password


def demo_study(slug: str, title: str) -> Study:
    """The demo study under ``slug``, imported and scheduled: all or nothing."""
    study = Study.objects.filter(slug=slug).first()
    if study is not None:
        return study
    configuration = read_configuration(FIXTURES / "demo_study.json")
    with transaction.atomic():
        study = create_study(slug, title=title, configuration=configuration, owner_name=RESEARCHER)
        for name, role in CLAIMS.items():
            import_claims(study, FIXTURES / name, role=role)
        lay_out(
            study,
            configuration["subsets"],
            configuration["replications"],
            configuration["seed"],
        )
    study.refresh_from_db()
    return study
