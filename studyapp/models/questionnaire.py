"""What participants answer after their last trial."""

from __future__ import annotations

from django.db import models

from studyapp.models.assignment import Enrolment


class QuestionnaireAnswer(models.Model):
    """The answer to one question, as text. Inserted once, never changed (triggers see to it)."""

    enrolment = models.ForeignKey(
        Enrolment, on_delete=models.CASCADE, related_name="questionnaire_answers"
    )
    #: The question's name in the study's settings.
    name = models.CharField(max_length=40)
    value = models.TextField()
    answered_at = models.DateTimeField()

    class Meta:
        ordering = ["enrolment", "id"]
        constraints = [
            models.UniqueConstraint(fields=["enrolment", "name"], name="question_answered_once")
        ]

    def __str__(self) -> str:
        return self.name
