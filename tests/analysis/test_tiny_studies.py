"""Studies of a few trials, as they are on their first day: a document, never an error."""

from __future__ import annotations

import itertools
import warnings

import pytest

from analysis.document import document_of, scored_trials, to_json
from analysis.load import check_tables
from tests.analysis import builders


@pytest.mark.parametrize("right", list(itertools.product((True, False), repeat=4)))
def test_one_person_with_two_trials_a_condition_gives_a_document(right: tuple[bool, ...]):
    rows = []
    for place, is_right in enumerate(right, start=1):
        own = {
            "trial_id": f"t{place}",
            "claim_id": f"{place:03d}",
            "position": place,
            "decision": "supported" if is_right else "cant_decide",
        }
        rows.append(builders.trial(**own) if place < 3 else builders.selection_trial(**own))
    study = builders.study(trials_per_participant=4, contrast="ranking - selection")
    tables = check_tables(builders.trials(*rows), None, study)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        document = document_of(scored_trials(tables), tables.settings)
    assert to_json(document)
    for values in document["learning"]["models"].values():
        assert values["left_out"].startswith("left out, because")
