"""What can go wrong in a study. The text is written for the person who reads it."""

from __future__ import annotations

from django.utils.functional import Promise


class StudyError(Exception):
    """Base: a refused action. ``problems`` holds one readable line each; ``status`` is for HTTP.

    What participants may read is translated lazily: an error is often raised before the language
    of its page is known.
    """

    status = 400

    def __init__(self, problems: str | Promise | list[str]):
        is_one = isinstance(problems, str | Promise)
        self.problems = [problems] if is_one else list(problems)
        super().__init__(*self.problems)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class BadUpload(StudyError):
    """A claims file or a study file is wrong; nothing was stored."""


class BrokerAway(StudyError):
    """The message broker cannot be reached; the jobs are kept and run once it answers."""


class NotReady(StudyError):
    """The study lacks something it needs for this step."""

    status = 409


class NotEditable(StudyError):
    """The study is frozen: claims, conditions and schedule cannot change any more."""

    status = 409


class Blinded(StudyError):
    """Results of a blind study were asked for while it runs."""

    status = 409


class NoFreeSlot(StudyError):
    """Every place of the study is taken."""

    status = 409


class NothingLeft(NoFreeSlot):
    """Every free place has claims that this person has met; ``run_token`` is of their last run."""

    def __init__(self, run_token: str):
        self.run_token = run_token
        super().__init__("No place is free whose claims are all new to this person.")


class AlreadyWithdrawn(StudyError):
    """Whoever this is has withdrawn: the data are deleted, and no further run begins."""

    status = 410


class BadRecruiterId(StudyError):
    """A recruiter's link without an id that can be used; ``kind`` says what is wrong with it."""

    def __init__(self, kind: str):
        self.kind = kind
        super().__init__(f"Not a recruiter id: {kind}.")


class ConsentChanged(StudyError):
    """The consent form was under an older text: the present one is to be shown and agreed to."""

    status = 409


class NotOpen(StudyError):
    """The study takes no participants now."""

    status = 409


class BadLink(StudyError):
    """A link or a form that this study did not hand out."""

    status = 404


class StalePage(StudyError):
    """The page shown is older than what is stored: answer with the true current state."""

    status = 409


class BadAnswer(StudyError):
    """The answer is none that this trial offers."""

    status = 422


class BadAnswers(BadAnswer):
    """Answers to the questionnaire that cannot be kept: ``faults`` has one text a question."""

    def __init__(self, faults: dict[str, str]):
        self.faults = faults
        super().__init__(list(faults.values()))
