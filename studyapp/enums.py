"""States and kinds, in a leaf module that everything may import."""

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class StudyState(TextChoices):
    DRAFT = "draft", "Draft"
    OPEN = "open", "Open"
    PAUSED = "paused", "Paused"
    CLOSED = "closed", "Closed"


class Protocol(TextChoices):
    VERIFICATION = "verification", "Verification"


class Interface(TextChoices):
    INCREMENTAL = "incremental", "Incremental"
    ALL_AT_ONCE = "all_at_once", "All at once"


class Label(TextChoices):
    SUPPORTED = "supported", "Supported"
    REFUTED = "refuted", "Refuted"
    PARTIALLY_SUPPORTED = "partially_supported", "Partially supported"


class Decision(TextChoices):
    """What a participant can decide; its page is translated, and so are these labels."""

    SUPPORTED = "supported", _("Supported")
    REFUTED = "refuted", _("Refuted")
    PARTIALLY_SUPPORTED = "partially_supported", _("Partially supported")
    CANT_DECIDE = "cant_decide", _("Can't decide")


class OrderPolicy(TextChoices):
    BLOCKED = "blocked", "Blocked, first condition alternating"
    INTERLEAVED = "interleaved", "Interleaved"


class ConditionPolicy(TextChoices):
    WITHIN = "within", "Every participant meets every condition"
    BETWEEN = "between", "One condition a participant"


class JobState(TextChoices):
    QUEUED = "queued", "Queued"
    LEASED = "leased", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"


class ResultsKind(TextChoices):
    """What a study's trials are worked out into."""

    MEASURES = "measures", "Measures"
    REPORT = "report", "Report"


class ExportVariant(TextChoices):
    """Whose eyes an export is for."""

    RAW = "raw", "Raw"
    DEIDENTIFIED = "deidentified", "De-identified"


class SpreadsheetCopies(TextChoices):
    """Copies of the tables beside the exact ones, made safe to open in a spreadsheet program."""

    NONE = "none", "None"
    WITH_BOM = "with_bom", "Marked as UTF-8 for Excel"
    PLAIN = "plain", "Without the mark"


class RunKind(TextChoices):
    REAL = "real", "Real"
    PILOT = "pilot", "Pilot"
    SIMULATED = "simulated", "Simulated"


class EnrolmentState(TextChoices):
    """``consented`` and ``active`` hold a slot while their lease runs, ``completed`` for good.

    All others free it; their data stay, marked, but for those of who withdrew.
    """

    CONSENTED = "consented", "Reading the instructions"
    ACTIVE = "active", "In the trials"
    COMPLETED = "completed", "Completed"
    TIMED_OUT = "timed_out", "Timed out"
    RETURNED = "returned", "Returned"
    PAID_PARTIAL = "paid_partial", "Paid, partial"
    SCREENED_OUT = "screened_out", "Screened out"
    FAILED_CHECKS = "failed_checks", "Failed checks"
    REJECTED = "rejected", "Rejected"
    WITHDRAWN = "withdrawn", "Withdrawn"


class RefusedIdKind(TextChoices):
    """Why a recruiter id cannot be used."""

    MISSING = "missing", "without an id"
    PLACEHOLDER = "placeholder", "with a placeholder instead of an id"
    TOO_LONG = "too_long", "with an id that is too long"
    UNREADABLE = "unreadable", "with an id that cannot be read"
    INCOMPLETE = "incomplete", "without a part that the recruiting site needs"
    NO_LINK = "no_link", "without a personal link"
    BAD_LINK = "bad_link", "with a personal link that is unknown or revoked"


class RecruitingSource(TextChoices):
    """Where participants come from; each but the plain one brings settings of its own."""

    PLAIN = "plain", "A plain link, or a site of your own"
    PROLIFIC = "prolific", "Prolific"
    MTURK = "mturk", "Amazon Mechanical Turk"
    SONA = "sona", "SONA"


class PersonalLinks(TextChoices):
    """Whether people come by links of their own."""

    ALSO = "also", "Beside the study's link"
    ONLY = "only", "By personal links only"
    OFF = "off", "No personal links"


class SlotState(TextChoices):
    """How a slot stands for real participants. Nothing stores it: it follows from the runs."""

    FREE = "free", "Free"
    HELD = "held", "Held"
    COMPLETED = "completed", "Completed"
    CLOSED = "closed", "Closed"


class CallKind(TextChoices):
    """What is asked of a recruiting site about one submission."""

    REQUEST_RETURN = "request_return", "Request to return"
    SCREEN_OUT = "screen_out", "Screen-out"


class TrialKind(TextChoices):
    """What a trial is for, and the claims that are kept for it. Only main trials are analysed."""

    MAIN = "main", "Main"
    PRACTICE = "practice", "Practice"
    ATTENTION = "attention", "Attention check"


class TrialState(TextChoices):
    OPEN = "open", "Open"
    COMPLETED = "completed", "Completed"
    INCOMPLETE = "incomplete", "Incomplete"
    VOID = "void", "Void"


class EventKind(TextChoices):
    """Kinds every protocol shares; a protocol adds its own (studyapp/protocols)."""

    TRIAL_STARTED = "trial_started", "Trial started"
    PAGE_HIDDEN = "page_hidden", "Page hidden"
    PAGE_VISIBLE = "page_visible", "Page visible"
    DECISION_SUBMITTED = "decision_submitted", "Decision submitted"


class Role(TextChoices):
    """What a researcher may do in a study; each role includes the ones before it."""

    VIEWER = "viewer", "Viewer"
    EDITOR = "editor", "Editor"
    OWNER = "owner", "Owner"


class AuditAction(TextChoices):
    """What the audit log knows; nothing else can be written to it (domain/audit.py)."""

    STUDY_CREATED = "study_created", "Study created"
    STUDY_IMPORTED = "study_imported", "Study imported"
    SETTINGS_CHANGED = "settings_changed", "Settings changed"
    CONDITION_ADDED = "condition_added", "Condition added"
    CONDITION_CHANGED = "condition_changed", "Condition changed"
    CONDITION_MOVED = "condition_moved", "Condition moved"
    CONDITION_REMOVED = "condition_removed", "Condition removed"
    CLAIMS_IMPORTED = "claims_imported", "Claims imported"
    CLAIMS_REMOVED = "claims_removed", "Claims removed"
    SCHEDULED = "scheduled", "Schedule made"
    SCHEDULE_REMOVED = "schedule_removed", "Schedule removed"
    PRECOMPUTE_QUEUED = "precompute_queued", "Precompute queued"
    SPENDING_LIMITED = "spending_limited", "Spending limit changed"
    STUDY_OPENED = "study_opened", "Study opened"
    STUDY_PAUSED = "study_paused", "Study paused"
    STUDY_RESUMED = "study_resumed", "Study resumed"
    STUDY_CLOSED = "study_closed", "Study closed"
    STUDY_DELETED = "study_deleted", "Study deleted"
    VERSION_PUBLISHED = "version_published", "New version published"
    STUDY_UNBLINDED = "study_unblinded", "Results unblinded"
    STUDY_EXPORTED = "study_exported", "Export made"
    RUN_RETURNED = "run_returned", "Run returned"
    RUN_RELEASED = "run_released", "Place released"
    RUN_REJECTED = "run_rejected", "Run rejected"
    RUN_PAID_PARTIAL = "run_paid_partial", "Run paid, partial"
    RUN_SCREENED_OUT = "run_screened_out", "Run screened out"
    RUN_FAILED_CHECKS = "run_failed_checks", "Run failed checks"
    RUN_EXTENDED = "run_extended", "Place held longer"
    RUN_RESTORED = "run_restored", "Run restored"
    LINKS_MADE = "links_made", "Personal links made"
    LINK_REVOKED = "link_revoked", "Personal link revoked"
    LINK_RENEWED = "link_renewed", "Personal link renewed"
    PILOT_LINK_MADE = "pilot_link_made", "Pilot link made"
    SLOTS_CLOSED = "slots_closed", "Slots closed"
    SLOTS_REOPENED = "slots_reopened", "Slots opened again"
    PROLIFIC_SET_UP = "prolific_set_up", "Prolific set up"
    PROLIFIC_CALL_REPEATED = "prolific_call_repeated", "Call to Prolific repeated"
    EXPORT_DOWNLOADED = "export_downloaded", "Export downloaded"
    EXPORT_DELETED = "export_deleted", "Export deleted"
    REPORT_DOWNLOADED = "report_downloaded", "Report downloaded"
    RECRUITER_ID_SHOWN = "recruiter_id_shown", "Recruiter's id shown"
    PAYMENTS_EXPORTED = "payments_exported", "Payments saved"
    PARTICIPANT_DELETED = "participant_deleted", "Participant deleted"
    MEMBER_INVITED = "member_invited", "Invitation made"
    INVITATION_REVOKED = "invitation_revoked", "Invitation revoked"
    MEMBER_JOINED = "member_joined", "Member joined"
    ROLE_CHANGED = "role_changed", "Role changed"
    MEMBER_REMOVED = "member_removed", "Member removed"
    MEMBER_LEFT = "member_left", "Member left"
    ACCOUNT_CREATED = "account_created", "Account created"
    PASSWORD_LINK_MADE = "password_link_made", "Password link made"
    API_TOKEN_MADE = "api_token_made", "API token made"
    API_TOKEN_ENDED = "api_token_ended", "API token ended"
    SECOND_FACTOR_ON = "second_factor_on", "Second factor turned on"
    SECOND_FACTOR_OFF = "second_factor_off", "Second factor turned off"
