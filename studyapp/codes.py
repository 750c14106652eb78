"""Random codes and tokens for addresses and pseudonyms."""

import secrets

# No vowels and no look-alikes: codes are read aloud and must spell nothing.
ALPHABET = "23456789bcdfghjkmnpqrstvwxz"


def random_code(length: int = 10) -> str:
    """A random text of ``length`` letters and digits (about 4.7 bits each)."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def study_code() -> str:
    return random_code(10)


def participant_code() -> str:
    """A pseudonym; begins with a letter so that spreadsheets keep it as text."""
    return "p" + random_code(11)


def trial_code() -> str:
    return "t" + random_code(13)


def event_code() -> str:
    return "e" + random_code(15)


def link_token() -> str:
    """The key in a person's own link: 114 bits."""
    return random_code(24)


def run_token() -> str:
    """The key to one run: 150 bits, so it cannot be guessed."""
    return random_code(32)
