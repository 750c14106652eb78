"""Whether a message comes from Prolific: its signature and its time.

From docs.prolific.com/api-reference/webhooks/verifying: the signature is the base64 of an HMAC with
SHA-256, keyed with the workspace's secret, over the timestamp and the body.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable
from datetime import UTC, datetime

#: How far a message's time may be from ours, in seconds: an old one could be a replay.
TOLERANCE = 300
_TIMESTAMP = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?")


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """The signature of a message."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def signed_at(
    secrets: Iterable[str], timestamp: str, signature: str, body: bytes, now: datetime
) -> datetime | None:
    """When a message was signed, or None: not with one of the secrets, or too long ago.

    Every secret is tried in full, in constant time.
    """
    given = signature.encode("utf-8", "replace")
    matches = [
        hmac.compare_digest(sign(secret, timestamp, body).encode(), given)
        for secret in secrets
        if _TIMESTAMP.fullmatch(timestamp)
    ]
    if not any(matches):
        return None
    seconds = float(timestamp)
    if abs(now.timestamp() - seconds) > TOLERANCE:
        return None
    return datetime.fromtimestamp(seconds, UTC)
