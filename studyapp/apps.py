from django.apps import AppConfig


class StudyAppConfig(AppConfig):
    name = "studyapp"
    verbose_name = "Suffice"

    def ready(self) -> None:
        from studyapp import signals  # noqa: F401  (registers worker presence)
