"""English function words that say nothing about a claim's content.

Deliberately short: on the open claims a list four times as long (all auxiliaries, prepositions
and common adverbs) costs about .015 MRR, since those words do carry part of what is claimed.
"""

_WORDS = """
a an the and or but not
of in on at to for by with from as
is was are were be been had has have
it its he his she her they them their
this that which who
"""

STOP_WORDS = frozenset(_WORDS.split())
