"""What the numbers of a power simulation are; the names of the outcomes, in their order."""

from __future__ import annotations

#: What every number of a cell is.
DEFINITIONS = {
    "power_success_two_way": "success differs by the primary test (two-way clustered), "
    "two-sided .05",
    "noninferior_two_way": "the lower 95 % limit (two-way clustered) of the success difference "
    "is above -margin",
    "power_success_participants": "success differs by the t test paired over participants",
    "noninferior_participants": "non-inferior by the t test paired over participants",
    "power_success_claims": "success differs by the t test paired over claims; a warning only, "
    "since it takes the participants for everybody",
    "noninferior_claims": "non-inferior by the t test paired over claims; a warning only",
    "power_fewer_read_two_way": "the upper 95 % limit (two-way clustered) of the difference in "
    "sentences is below 0",
    "power_fewer_read_claims": "the same by the t test paired over claims",
    "success_rate_first": "success rate of the first condition",
    "success_rate_second": "success rate of the second condition",
    "mean_rd": "mean difference in success, first minus second",
    "mean_read_first": "mean sentences read (shown, if all at once) in the first condition",
    "mean_read_second": "mean sentences read (shown, if all at once) in the second condition",
    "mean_read_difference": "mean difference in sentences, first minus second",
    "mean_surplus_first": "sentences beyond the smallest gold set, first condition",
    "mean_surplus_second": "sentences beyond the smallest gold set, second condition",
    "over_read_msr_rate_first": "read on past the first sufficient rank, first condition",
    "over_read_msr_rate_second": "read on past the first sufficient rank, second condition",
}
