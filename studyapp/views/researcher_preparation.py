"""The first cards: claims, conditions, rankings."""

from __future__ import annotations

from studyapp.domain.study_facts import ClaimCounts
from studyapp.enums import Label
from studyapp.models import Condition, Study
from studyapp.views.researcher_card import Card, Command, Tone, manage
from studyapp.views.researcher_precompute import PrecomputeStatus
from studyapp.views.researcher_schedule import fill_of
from studyapp.views.researcher_words import counted, listed, shares

# ---- claims --------------------------------------------------------------------------------------


def claims_card(study: Study, counts: ClaimCounts) -> Card:
    """How many claims, of which labels and sizes."""
    command = Command(
        "Import claims, one a line (JSON Lines):",
        manage("import_claims", study.slug, "CLAIMS.jsonl"),
    )
    if not counts.n:
        return Card(
            anchor="claims",
            title="Claims",
            tone=Tone.NEXT,
            state="No claims yet",
            template="researcher/_claims.html",
            is_open=True,
            missing=["The study needs claims with candidate sentences and gold sets."],
            command=command,
        )
    facts = [
        ("Labels", shares({Label(name).label: n for name, n in counts.by_label.items()})),
        (
            "Smallest gold set",
            shares({counted(size, "sentence"): n for size, n in counts.by_gold_size.items()}),
        ),
        ("Candidates a claim", f"{counts.mean_candidates:.1f} on average"),
        ("Licence", shares(counts.by_license)),
    ]
    if counts.n_practice or counts.n_attention:
        others = f"{counts.n_practice} for practice, {counts.n_attention} for attention checks"
        facts.append(("Further claims", others))
    can_change = study.is_draft and not study.n_replications
    return Card(
        anchor="claims",
        title="Claims",
        tone=Tone.DONE,
        state=counted(counts.n, "claim"),
        template="researcher/_claims.html",
        is_open=False,
        command=command if can_change else None,
        content={"facts": facts},
    )


# ---- conditions ----------------------------------------------------------------------------------


def conditions_card(study: Study, conditions: list[Condition]) -> Card:
    """What is compared. The contrast is the first condition minus the second."""
    rows = [
        {
            "name": condition.name,
            "interface": condition.get_interface_display(),
            "method": condition.method,
            "model": condition.model or condition.embedder or "–",
            "params": ", ".join(f"{k}={v}" for k, v in sorted(condition.params.items())) or "–",
            "fill": fill_of(condition.position),
        }
        for condition in conditions
    ]
    missing = []
    if not rows:
        missing = ["The study needs at least one way to show evidence; two to compare."]
    elif len(rows) == 1:
        missing = ["A second condition is needed if you want to compare."]
    can_change = study.is_draft and not study.n_replications
    names = {condition.name for condition in conditions}
    command = Command(
        "Add a condition (methods are listed by: python -m rankers methods):",
        manage("add_condition", study.slug, *_example_condition(names)),
    )
    contrast = f"{conditions[0].name} minus {conditions[1].name}" if len(rows) > 1 else ""
    return Card(
        anchor="conditions",
        title="Conditions",
        tone=Tone.DONE if rows else Tone.NEXT,
        state=listed([row["name"] for row in rows]) if rows else "No condition yet",
        template="researcher/_conditions.html",
        is_open=not rows or (len(rows) == 1 and can_change),
        missing=missing if can_change else [],
        command=command if can_change else None,
        content={"rows": rows, "contrast": contrast},
    )


def _example_condition(names: set[str]) -> tuple[str, ...]:
    if "ranking" not in names:
        return "ranking", "--interface incremental", "--method coverage"
    name = "selection" if "selection" not in names else "NAME"
    return name, "--interface all_at_once", "--method coverage_selection"


# ---- rankings ------------------------------------------------------------------------------------


def rankings_card(study: Study, status: PrecomputeStatus) -> Card:
    """Precompute: its content is the fragment that refreshes itself."""
    return Card(
        anchor="rankings",
        title="Rankings",
        tone=status.tone,
        state=status.state,
        template="researcher/_precompute.html",
        is_open=status.tone not in (Tone.DONE, Tone.WAITING),
        content=status,
    )
