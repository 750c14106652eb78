"""What can go wrong between us and Prolific."""

from __future__ import annotations

from studyapp.errors import StudyError


class ProlificError(StudyError):
    """A request that Prolific did not do. The text says what happened and what to do.

    ``is_worth_retry``: the same request may work later, after ``retry_after`` seconds where
    Prolific named them. ``may_have_worked``: it may have been carried out all the same.
    ``code`` is the status of the answer, where there was one.
    """

    status = 502

    def __init__(
        self,
        words: str,
        *,
        is_worth_retry: bool = False,
        may_have_worked: bool = False,
        retry_after: float | None = None,
        code: int | None = None,
    ):
        self.is_worth_retry = is_worth_retry
        self.may_have_worked = may_have_worked
        self.retry_after = retry_after
        self.code = code
        super().__init__(words)
