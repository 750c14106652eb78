"""What each measure means, printed wherever the measure is (statistics.md 2)."""

from __future__ import annotations

from dataclasses import dataclass

ALL = "n_trials: all included trials of the condition"
SCORABLE = "n_scorable: included trials whose gold label is among the response options"
SUFFICIENT = "n_sufficient_available: included trials with a gold set among the sentences available"
UNDECIDED = "n_undecided: scorable trials ended by can't decide"
NONE = "none: a count"


@dataclass(frozen=True, slots=True)
class Measure:
    """Name, definition, denominator and formula of one measure.

    In formulas n = n_read, N = n_available, q = gold_min_size, M = msr (infinite if missing);
    a trial is sufficient when M <= n.
    """

    name: str
    definition: str
    denominator: str
    formula: str


_WILSON = "Wilson 95 % interval of"
_ALIKE = "; it ignores that trials of one person or claim are alike"

MEASURES: tuple[Measure, ...] = (
    Measure("n_trials", "included trials", NONE, "count of trials"),
    Measure(
        "n_scorable",
        "included trials that have a right button among the response options",
        NONE,
        "count of gold_label in response_options",
    ),
    Measure("n_success", "scorable trials decided right", NONE, "decision = gold_label"),
    Measure(
        "n_wrong",
        "scorable trials in which another label was chosen",
        NONE,
        "decision is a label and not gold_label",
    ),
    Measure("n_undecided", "scorable trials ended by can't decide", NONE, "decision = cant_decide"),
    Measure(
        "n_gave_up",
        "undecided trials of an incremental condition with sentences left unread",
        UNDECIDED,
        "undecided, incremental and n < N",
    ),
    Measure("success_rate", "share decided right", SCORABLE, "n_success / n_scorable"),
    Measure("wrong_rate", "share decided for another label", SCORABLE, "n_wrong / n_scorable"),
    Measure("undecided_rate", "share ended by can't decide", SCORABLE, "n_undecided / n_scorable"),
    Measure(
        "success_wilson95", f"{_WILSON} success_rate{_ALIKE}", SCORABLE, "Wilson score interval"
    ),
    Measure("wrong_wilson95", f"{_WILSON} wrong_rate{_ALIKE}", SCORABLE, "Wilson score interval"),
    Measure(
        "undecided_wilson95", f"{_WILSON} undecided_rate{_ALIKE}", SCORABLE, "Wilson score interval"
    ),
    Measure(
        "mean_read",
        "sentences read before the decision, undecided trials too; for all-at-once: shown",
        ALL,
        "mean of n",
    ),
    Measure("sd_read", "spread of the sentences read", "n_trials - 1", "standard deviation of n"),
    Measure("median_read", "sentences read in the middle trial", ALL, "median of n"),
    Measure(
        "mean_required",
        "sentences that the claim requires: size of its smallest gold set",
        ALL,
        "mean of q",
    ),
    Measure(
        "mean_surplus", "sentences read beyond the required; may be negative", ALL, "mean of n - q"
    ),
    Measure(
        "over_read_min_rate",
        "share that read more than the smallest gold set, whatever the order allowed",
        ALL,
        "share of n > q",
    ),
    Measure(
        "over_read_msr_rate",
        "share that went on past the first sufficient prefix of the order shown (headline)",
        ALL,
        "share of M finite and n > M",
    ),
    Measure("n_over_read_min", "trials that read more than the smallest gold set", NONE, "n > q"),
    Measure(
        "n_over_read_msr",
        "trials that went on past the first sufficient prefix",
        NONE,
        "M finite and n > M",
    ),
    Measure(
        "over_read_msr_wilson95",
        f"{_WILSON} over_read_msr_rate{_ALIKE}",
        ALL,
        "Wilson score interval",
    ),
    Measure(
        "n_sufficient_available",
        "trials with a gold set among the sentences available",
        NONE,
        "M finite",
    ),
    Measure(
        "over_read_msr_rate_if_sufficient_available",
        "share that went on past the first sufficient prefix, where there is one",
        SUFFICIENT,
        "n_over_read_msr / n_sufficient_available",
    ),
    Measure(
        "shown_insufficient_rate",
        "share that ended, by a label or by can't decide, before a gold set was shown",
        ALL,
        "share of M > n",
    ),
    Measure(
        "system_insufficient_rate",
        "share with no gold set among the sentences available",
        ALL,
        "share of M missing",
    ),
    Measure(
        "exact_stop_rate",
        "share that stopped at the first sufficient prefix",
        ALL,
        "share of n = M",
    ),
    Measure(
        "decided_insufficient_rate",
        "share that chose a label although what was shown was insufficient",
        ALL,
        "share of M > n and a label chosen",
    ),
    Measure(
        "under_read_rate",
        "share that chose a label while insufficient with sentences left; incremental only",
        ALL,
        "share of M > n, a label chosen and n < N",
    ),
    Measure(
        "lucky_rate",
        "share decided right while insufficient; background knowledge looks the same",
        SCORABLE,
        "count of success and M > n / n_scorable",
    ),
    Measure(
        "lucky_share_of_successes",
        "share of the right decisions that were made while insufficient",
        "n_success",
        "count of success and M > n / n_success",
    ),
    Measure(
        "missed_rate",
        "share ended by can't decide although what was shown was sufficient",
        ALL,
        "share of cant_decide and M <= n",
    ),
    Measure(
        "mean_ranker_excess",
        "the system's part of the surplus: how late the order became sufficient",
        SUFFICIENT,
        "mean of M - q where M is finite",
    ),
    Measure(
        "mean_reader_excess",
        "the reader's part of the surplus: how far past the first sufficient prefix",
        SUFFICIENT,
        "mean of n - M where M is finite",
    ),
    Measure(
        "mean_active_s",
        "visible time up to the decision, in seconds",
        ALL,
        "mean of active_ms / 1000",
    ),
    Measure(
        "median_active_s", "visible time of the middle trial", ALL, "median of active_ms / 1000"
    ),
    Measure(
        "geomean_active_s",
        "visible time, geometric mean",
        ALL,
        "exp of the mean of log(active_ms / 1000)",
    ),
    Measure(
        "median_time_per_sentence_s",
        "visible time a sentence read, of the middle trial",
        ALL,
        "median of active_ms / 1000 / n",
    ),
    Measure(
        "pooled_time_per_sentence_s",
        "all visible time over all sentences read; not the mean of the trials' values",
        "all sentences read",
        "sum of active_ms / 1000 / sum of n",
    ),
    Measure(
        "sensitivity_success_partial_as_supported",
        "success when partially supported claims count as supported",
        ALL,
        "share of decision = gold_label, partially_supported read as supported",
    ),
    Measure(
        "sensitivity_success_partial_as_refuted",
        "success when partially supported claims count as refuted",
        ALL,
        "share of decision = gold_label, partially_supported read as refuted",
    ),
    Measure(
        "success_rate_incomplete_as_not_success",
        "success when main trials without a decision count as not successful",
        "n_scorable and the scorable incomplete trials",
        "n_success / (n_scorable + n_incomplete)",
    ),
    Measure(
        "n_incomplete", "scorable main trials without a decision", NONE, "trial_status = incomplete"
    ),
    Measure(
        "mean_active_s_capped",
        "visible time with longer trials set to the pre-registered cap, the same in all conditions",
        ALL,
        "mean of min(active_ms / 1000, cap)",
    ),
)

BY_NAME: dict[str, Measure] = {measure.name: measure for measure in MEASURES}


def definitions() -> dict[str, dict[str, str]]:
    """Every measure's definition, denominator and formula by name, ready for JSON."""
    return {
        measure.name: {
            "definition": measure.definition,
            "denominator": measure.denominator,
            "formula": measure.formula,
        }
        for measure in MEASURES
    }
