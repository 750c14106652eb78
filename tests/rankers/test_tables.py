from __future__ import annotations

from collections import Counter

from rankers.compare import compare
from rankers.evaluate import NO_RANKING, Evaluation
from rankers.metrics import Score
from rankers.records import FAILED
from rankers.tables import DIFFERENCES_LEGEND, LEGEND, report


def _result():
    """Two rankers on four claims; ``second`` lacks two of them."""
    first = {
        "a": Score(1, 1, 1.0, 1, 1.0),
        "b": Score(1, 2, 0.5, 0, 0.75),
        "c": Score(2, 12, 0.25, 0, 0.5),
        "d": Score(4, 4, 1.0, 1, 1.0),
    }
    second = {"a": Score(1, 3, 0.25, 0, 0.5), "b": Score(1, 1, 1.0, 1, 1.0)}
    return Evaluation(
        scores={"first": first, "second/gpt[depth=6]": second},
        labels={"a": "supported", "b": "refuted", "c": "supported", "d": "supported"},
        left_out={
            "first": Counter(),
            "second/gpt[depth=6]": Counter({NO_RANKING: 1, FAILED: 1}),
        },
    )


def test_the_report_is_the_tables_of_the_paper_and_a_legend():
    assert report(_result().summary()).split("\n\n") == [
        """\
all claims
ranker               n            MRR         SR %           NDCG  mean MSR                       left out
first                4  0.688 ± 0.188  50.0 ± 28.9  0.812 ± 0.120      4.75                              0
second/gpt[depth=6]  2  0.625 ± 0.375  50.0 ± 50.0  0.750 ± 0.250      2.00  1 failed, 1 without a ranking""",  # noqa: E501
        """\
MRR by IMSR (n)
ranker                               1          2         3+
first                0.750 ± 0.250 (2)  0.250 (1)  1.000 (1)
second/gpt[depth=6]  0.625 ± 0.375 (2)          –          –""",
        """\
MRR by label (n)
ranker                 refuted          supported
first                0.500 (1)  0.750 ± 0.250 (3)
second/gpt[depth=6]  1.000 (1)          0.250 (1)""",
        """\
% of claims verified after exactly k sentences
ranker                  1     2     3     4    5    6    7    8    9   10   11+
first                25.0  25.0   0.0  25.0  0.0  0.0  0.0  0.0  0.0  0.0  25.0
second/gpt[depth=6]  50.0   0.0  50.0   0.0  0.0  0.0  0.0  0.0  0.0  0.0   0.0""",
        """\
% of claims verified within k sentences
ranker                  1     2      3      4      5      6      7      8      9     10     15     20
first                25.0  50.0   50.0   75.0   75.0   75.0   75.0   75.0   75.0   75.0  100.0  100.0
second/gpt[depth=6]  50.0  50.0  100.0  100.0  100.0  100.0  100.0  100.0  100.0  100.0  100.0  100.0""",  # noqa: E501
        LEGEND,
    ]
    assert "\n" not in LEGEND + DIFFERENCES_LEGEND
    for word in ("MSR", "IMSR", "MRR", "SR", "NDCG", "SEM"):
        assert word in LEGEND


def test_a_comparison_is_a_table_of_differences_with_its_own_legend():
    result = _result()
    name = "second/gpt[depth=6]"
    # The numbers of the differences are tested beside the bootstrap.
    result.comparisons["first", name] = {
        **compare(result, "first", name, draws=200),
        "all": {
            "n": 2,
            "mrr": {"difference": 0.125, "low": -0.5, "high": 0.75, "p": 0.4567},
            "sr": {"difference": -0.05, "low": -0.1, "high": 0.0, "p": 1.0},
            "ndcg": {"difference": 0.5, "low": 0.25, "high": 0.75, "p": 0.00001},
        },
        "gold_min_size=1": {
            "n": 1,
            "mrr": {"difference": 0.125, "low": None, "high": None, "p": None},
            "sr": {"difference": 0.0, "low": None, "high": None, "p": None},
            "ndcg": {"difference": 0.5, "low": None, "high": None, "p": None},
        },
    }
    assert report(result.summary()).split("\n\n")[-2:] == [
        """\
first - second/gpt[depth=6]
claims  n  measure  difference              95 %         p
all     2      MRR      +0.125  -0.500 to +0.750    0.4567
all     2     SR %        -5.0     -10.0 to +0.0    1.0000
all     2     NDCG      +0.500  +0.250 to +0.750  < 0.0001
IMSR 1  1      MRR      +0.125                 –         –
IMSR 1  1     SR %        +0.0                 –         –
IMSR 1  1     NDCG      +0.500                 –         –
left out: 2 scored for one of them only""",
        DIFFERENCES_LEGEND,
    ]


def test_rankers_without_a_scored_claim_leave_only_the_first_table():
    result = Evaluation(scores={"first": {}}, left_out={"first": Counter({FAILED: 3})})
    sections = report(result.summary()).split("\n\n")
    assert [section.splitlines()[0] for section in sections] == ["all claims", LEGEND]
    assert sections[0].splitlines()[2].split("  ")[-1] == "3 failed"
