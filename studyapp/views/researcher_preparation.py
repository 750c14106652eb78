"""The first cards: claims, conditions, rankings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.db.models import Count, Sum

from studyapp.domain.queries import main_claims
from studyapp.enums import Label, TrialKind
from studyapp.models import Claim, Condition, Study
from studyapp.views.researcher_card import Card, Command, Tone, manage
from studyapp.views.researcher_precompute import PrecomputeStatus
from studyapp.views.researcher_schedule import fill_of
from studyapp.views.researcher_words import counted, listed, shares

# ---- claims --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClaimCounts:
    """What the main claims are, counted: by label, by size of the smallest gold set, by licence.

    ``n_practice`` and ``n_attention`` are the claims kept for other trials.
    """

    n: int
    by_label: dict[str, int]
    by_gold_size: dict[int, int]
    mean_candidates: float
    by_license: dict[str, int]
    n_practice: int
    n_attention: int


def claim_counts(study: Study) -> ClaimCounts:
    """Count a study's claims in two queries."""
    labels: Counter[str] = Counter()
    sizes: Counter[int] = Counter()
    roles: Counter[str] = Counter()
    n_candidates = 0
    groups = (
        Claim.objects.filter(study=study)
        .values_list("role", "label", "gold_min_size")
        .annotate(n=Count("id"), candidates=Sum("n_candidates"))
        .order_by()
    )
    for role, label, size, n, candidates in groups:
        roles[role] += n
        if role != TrialKind.MAIN:
            continue
        labels[label] += n
        sizes[size] += n
        n_candidates += candidates
    licenses = main_claims(study).values_list("license").annotate(n=Count("id")).order_by("license")
    n_claims = labels.total()
    return ClaimCounts(
        n=n_claims,
        by_label={label: labels[label] for label in Label.values if labels[label]},
        by_gold_size=dict(sorted(sizes.items())),
        mean_candidates=n_candidates / n_claims if n_claims else 0.0,
        by_license={license or "not said": n for license, n in licenses},
        n_practice=roles[TrialKind.PRACTICE],
        n_attention=roles[TrialKind.ATTENTION],
    )


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
