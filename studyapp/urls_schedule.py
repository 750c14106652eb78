"""Addresses of a study's schedule."""

from django.urls import path

from studyapp.views import schedule_actions, schedule_page

SCHEDULE = "studies/<slug:slug>/schedule/"
SLOT = SCHEDULE + "slots/<int:replication>.<int:number>/"
SUBSET = SCHEDULE + "subsets/<int:number>/"

urlpatterns = [
    path(SCHEDULE, schedule_page.schedule, name="study-schedule"),
    path(SCHEDULE + "claims/", schedule_page.claims, name="schedule-claims"),
    path(SCHEDULE + "subsets/", schedule_page.subsets, name="schedule-subsets"),
    path(SCHEDULE + "table.csv", schedule_page.table, name="schedule-table"),
    path(SCHEDULE + "cycles/", schedule_actions.cycles, name="schedule-cycles"),
    path(SLOT + "close/", schedule_actions.slot, {"do": "close"}, name="slot-close"),
    path(SLOT + "reopen/", schedule_actions.slot, {"do": "reopen"}, name="slot-reopen"),
    path(SUBSET + "close/", schedule_actions.subset, {"do": "close"}, name="subset-close"),
    path(SUBSET + "reopen/", schedule_actions.subset, {"do": "reopen"}, name="subset-reopen"),
]
