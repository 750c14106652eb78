"""Models that run in this process: each is loaded once, on the GPU where there is one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rankers.errors import MissingDependency, RankerError

INSTALL = 'pip install ".[local]" in the folder of Suffice'

_MOST_WORDS = 300

_loading = threading.Lock()
_loaded: dict[tuple[str, str], Any] = {}


def load_once(kind: str, name: str, load: Callable[[str, str], Any]) -> Any:
    """Return the model ``name``, a name on the Hugging Face hub or a local folder.

    The first caller of a process runs ``load(name or folder, device)``, all others wait for it and
    share the result; ``kind`` keeps two uses of one name apart and opens the messages.
    Raises MissingDependency, which ends a run at once, when a package is missing or the model
    cannot be loaded: every claim would fail alike.
    """
    key = (kind, name)
    with _loading:
        if key not in _loaded:
            _loaded[key] = _load(kind, name, load)
        return _loaded[key]


def _load(kind: str, name: str, load: Callable[[str, str], Any]) -> Any:
    try:
        return load(_source(kind, name), _device())
    except RankerError:
        raise
    except ImportError as error:
        raise MissingDependency(
            f"the {kind} {name!r} needs packages that are not installed ({error}): {INSTALL}"
        ) from error
    except Exception as error:  # whatever the libraries find wrong with files or network
        words = " ".join(str(error).split())[:_MOST_WORDS] or type(error).__name__
        raise MissingDependency(
            f"the {kind} {name!r} cannot be loaded ({words}): give a name from the Hugging Face "
            "hub, which has to be reachable the first time, or a folder that holds the model; all "
            f"that reads it comes with {INSTALL}"
        ) from error


def _source(kind: str, name: str) -> str:
    """The folder that is meant, or the name as it is."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return str(folder)
    # A name on the hub is "model" or "owner/model"; anything else was to be a path.
    if name.startswith((".", "/", "~")) or len(folder.parts) > 2:
        raise MissingDependency(f"the {kind} {name!r} cannot be loaded: there is no such folder")
    return name


def _device() -> str:
    """Where models run."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
