"""Bodies: strict JSON, and files of claims that are handed on as they come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from rankers.formats.lines import deep_text_problem, whole_json


class StrictJson(BaseParser):
    """One JSON object that a database can hold: no key twice, no U+0000, no endless nesting."""

    media_type = "application/json"

    def parse(
        self,
        stream: BinaryIO,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        try:
            value = whole_json(stream)
        except ValueError as error:
            raise ParseError(f"The body is {error}.") from None
        if not isinstance(value, dict):
            raise ParseError("The body must hold one JSON object.")
        if problem := deep_text_problem(value):
            raise ParseError(f"A text in the body {problem}.")
        return value


class _File(BaseParser):
    """The body is a file; it is read where it is written to the disk, never into memory."""

    def parse(
        self,
        stream: BinaryIO,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> BinaryIO:
        return stream


class JsonLinesFile(_File):
    media_type = "application/x-ndjson"


class JsonlFile(_File):
    media_type = "application/jsonl"


class JsonFile(_File):
    media_type = "application/json"


class CsvFile(_File):
    media_type = "text/csv"


class OctetFile(_File):
    media_type = "application/octet-stream"
