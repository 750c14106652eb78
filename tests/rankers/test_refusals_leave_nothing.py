"""What is refused leaves no file behind and names what to mend."""

from __future__ import annotations

import pytest

from rankers import MissingDependency
from rankers.cli import main
from rankers.llm import LLM
from tests.rankers.claim_files import write


def test_a_refused_output_gets_no_note_beside_it(tmp_path):
    claims = write(tmp_path / "claims.jsonl", {})
    notes = tmp_path / "notes.txt"
    notes.write_text("my notes\n")
    assert main(["rank", str(claims), "--method", "bm25", "-o", str(notes)]) == 1
    assert notes.read_text() == "my notes\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["claims.jsonl", "notes.txt"]


@pytest.mark.parametrize("address", ["127.0.0.1:9", "localhost:8000/v1", "ftp://x/v1"])
def test_a_server_address_without_http_is_refused_at_once(address):
    with pytest.raises(MissingDependency, match="begin it with http"):
        LLM.from_environment("m", environ={"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "k"})


@pytest.mark.parametrize(
    "address",
    [
        "http://[::1",
        "http://",
        "http:///v1",
        "http://a b/v1",
        "http://a/v1?x=1",
        "http://a/v1#x",
        "http://a:port/v1",
        "http://u:s3cret@[::1",
    ],
)
def test_an_address_that_no_server_can_have_is_refused_at_once(address):
    with pytest.raises(MissingDependency, match=r"^OPENAI_BASE_URL=") as raised:
        LLM.from_environment("m", environ={"OPENAI_BASE_URL": address})
    assert "s3cret" not in str(raised.value)
