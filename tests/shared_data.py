"""Where the real claims and the statistics cases are, for tests that read them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("SUFFICE_SHARED_DATA", ROOT.parent / "shared" / "data"))

needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="the shared data folder is not beside the repository"
)
