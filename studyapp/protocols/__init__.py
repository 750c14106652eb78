"""Protocols by name: what a trial of each kind freezes, records and asks."""

from __future__ import annotations

from studyapp.enums import EventKind, Protocol
from studyapp.protocols import verification
from studyapp.protocols.base import ProtocolRules

PROTOCOLS: dict[str, ProtocolRules] = {
    Protocol.VERIFICATION: verification.RULES,
}


def rules_for(protocol: str) -> ProtocolRules:
    """The rules of a study's or trial's protocol."""
    return PROTOCOLS[protocol]


def known_event_kinds(protocol: str) -> frozenset[str]:
    """Every kind of event that a trial of this protocol may record."""
    return frozenset(EventKind.values) | PROTOCOLS[protocol].event_kinds
