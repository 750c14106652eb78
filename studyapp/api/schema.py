"""The OpenAPI document: common errors, rows named by the codebook, and the token."""

from __future__ import annotations

from functools import cache
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator

#: Addresses that change the state of a study.
STATES = ("open", "pause", "resume", "close")
_KINDS = {"int": {"type": "integer"}, "bool": {"type": "boolean"}}
#: Tables of the export whose rows the API sends, with what it adds to them.
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "TrialRow": ("trials", {}),
    "EventRow": ("events", {}),
    "ParticipantRow": ("participants", {"state": {"type": "string"}, "run": {"type": "integer"}}),
}
ANY_OBJECT = {"type": "object", "additionalProperties": True}
#: A claim in the interchange format, and where it stands in the study.
CLAIM: dict[str, Any] = {
    "type": "object",
    "required": ["id", "claim", "label", "candidates", "gold_sets", "role", "subset"],
    "properties": {
        "id": {"type": "string"},
        "claim": {"type": "string"},
        "label": {"type": "string"},
        "candidates": {"type": "array", "items": {"type": "string"}},
        "gold_sets": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        "role": {"type": "string", "enum": ["main", "practice", "attention"]},
        "subset": {"type": "integer", "nullable": True},
    },
    "additionalProperties": True,
}


#: The one shape of errors (errors.py).
ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "problems"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "problems": {"type": "array", "items": {"$ref": "#/components/schemas/Place"}},
            },
            "additionalProperties": False,
        }
    },
    "additionalProperties": False,
}


class TokenScheme(OpenApiAuthenticationExtension):
    """How the schema names our token."""

    target_class = "studyapp.api.authentication.ResearcherToken"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A token of your account page, or of manage.py api_token.",
        }


@cache
def document() -> dict[str, Any]:
    """The whole document, made once a process."""
    made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return made


def complete(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add what every operation shares (a postprocessing hook)."""
    schemas = result["components"]["schemas"]
    for name, (table, more) in ROWS.items():
        schemas[name] = _row_schema(table, more)
    schemas |= {"Claim": CLAIM, "Error": ERROR}
    for address, methods in result["paths"].items():
        for operation in methods.values():
            operation["summary"] = operation.pop("description")
            operation["tags"] = [_part_of(address)]
            _add_errors(operation)
    return result


def _part_of(address: str) -> str:
    """The part of a study that an address is about: /api/v1/studies/{slug}/claims/ -> claims."""
    parts = address.strip("/").split("/")[4:]
    return parts[0] if parts and parts[0] not in STATES else "studies"


def _add_errors(operation: dict[str, Any]) -> None:
    """What any request may be answered with, in the one shape."""
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    texts = {
        "400": "The request is wrong, or refused",
        "401": "No token, or none that is known",
        "403": "Not with this token",
        "404": "There is no such thing among yours",
        "409": "Not in this state",
        "413": "The body is too large",
        "415": "The body is of another kind",
        "422": "The name typed is not the study's",
        "429": "Too many requests; Retry-After says how long to wait",
        "500": "The server failed",
    }
    for status, text in texts.items():
        operation["responses"].setdefault(status, {"description": text, "content": error})


def _row_schema(table: str, more: dict[str, Any]) -> dict[str, Any]:
    from analysis.columns import columns_of  # loads pandas

    properties: dict[str, Any] = {}
    for column in columns_of(table):
        shown = dict(_KINDS.get(column.kind, {"type": "string"}))
        if column.may_be_empty:
            shown["nullable"] = True
        properties[column.name] = shown | {"description": column.meaning}
    properties |= more
    return {"type": "object", "required": list(properties), "properties": properties}
