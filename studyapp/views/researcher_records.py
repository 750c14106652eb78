"""What is kept for those who ask later: the audit log and the consent records of a study."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from studyapp.access import researcher_only
from studyapp.domain import audit
from studyapp.domain.consent import consent_records
from studyapp.enums import AuditAction
from studyapp.forms import AuditFilterForm
from studyapp.models import AuditEntry
from studyapp.views.researcher_card import manage
from studyapp.views.researcher_layout import page
from studyapp.views.researcher_words import counted

#: Entries of the audit log on one page.
LOG_PAGE = 100


@require_safe
@researcher_only
def study_log(request: HttpRequest, slug: str) -> HttpResponse:
    """What researchers and commands did to the study, the newest first."""
    chosen = AuditFilterForm.chosen(request.GET)
    entries = audit.entries_of(request.study, action=chosen["action"], who=chosen["who"])
    if chosen["before"]:
        entries = entries.filter(pk__lt=chosen["before"])
    shown = list(entries[: LOG_PAGE + 1])
    context = {
        "rows": [_log_row(entry) for entry in shown[:LOG_PAGE]],
        "older": shown[LOG_PAGE - 1].pk if len(shown) > LOG_PAGE else None,
        "actions": [(a.value, a.label, a == chosen["action"]) for a in AuditAction],
        "who": chosen["who"],
        "action": chosen["action"],
        "is_filtered": any(chosen.values()),
        "command": manage("audit_log", request.study.slug),
    }
    return page(request, "researcher/log.html", context)


def _log_row(entry: AuditEntry) -> dict[str, str]:
    return {
        "at": f"{entry.at:%Y-%m-%d %H:%M:%S}",
        "who": entry.who,
        "action": entry.get_action_display(),
        "details": audit.details_text(entry),
    }


@require_safe
@researcher_only
def study_consent(request: HttpRequest, slug: str) -> HttpResponse:
    """Who consented to which text, when, and the texts themselves: made for printing."""
    found = consent_records(request.study)
    context = {
        "texts": [
            {"number": number, "version": each.version, "text": each.text}
            for number, each in enumerate(found.texts, start=1)
        ],
        "rows": [
            {
                "participant": record.participant,
                "kind": record.run_kind,
                "text": record.number or "not kept",
                "version": record.version,
                "at": f"{record.consented_at:%Y-%m-%d %H:%M:%S}",
            }
            for record in found.records
        ],
        "n_records": counted(len(found.records), "consent"),
        "withdrawn": counted(found.n_withdrawn, "person", "people") if found.n_withdrawn else "",
        "command": manage("consent_records", request.study.slug),
    }
    return page(request, "researcher/consent.html", context)
