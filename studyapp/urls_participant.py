"""Addresses of participants, below ``/p/``. Codes and tokens are letters and digits."""

from django.urls import path

from studyapp.views import participant, participant_join

RUN = "<slug:study_code>/r/<slug:token>/"

urlpatterns = [
    # The most frequent first: patterns are tried in this order.
    path(RUN + "t/<slug:trial_code>/reveal", participant.reveal, name="trial-reveal"),
    path(RUN + "t/<slug:trial_code>/decide", participant.decide, name="trial-decide"),
    path(RUN, participant.run, name="run"),
    path(RUN + "t/<slug:trial_code>/seen", participant.seen, name="trial-seen"),
    path(RUN + "begin", participant.begin, name="run-begin"),
    path(RUN + "questionnaire", participant.questionnaire, name="run-questionnaire"),
    path(RUN + "help", participant.help_page, name="run-help"),
    path(RUN + "withdraw", participant.withdraw_run, name="run-withdraw"),
    path("<slug:study_code>/", participant_join.welcome, name="study-welcome"),
    path("<slug:study_code>/join", participant_join.join_study, name="study-join"),
    path("<slug:study_code>/declined", participant_join.declined, name="study-declined"),
]
