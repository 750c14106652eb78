"""The statements of the participant's pages, put into SQL once instead of at every click.

Django compiles a query anew at every use, and for the joins behind a trial that costs several times
what the database needs to answer it. A ``CompiledRead`` is written in the ORM, keeps its SQL, fills
in the values, and gives the same model instances as the queryset would. ``insert_rows`` and
``update_row`` write plain rows: no signals, no defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

from django.db import connection
from django.db.models import Model, QuerySet
from django.db.models.query import get_related_populators

#: Stands for a whole number while a query is compiled; fits every integer column.
_FIRST_NUMBER = 2_147_000_000


class CompiledRead:
    """One query with named values, each used once: ``CompiledRead(build, token=str, rank=int)``.

    ``build`` takes the values by name and returns a queryset; it is called with stand-ins, so it
    must not look at them. The queryset may use ``select_related``, ``only`` and
    ``select_for_update`` (then only inside a transaction), but no annotation and no prefetch.
    """

    def __init__(self, build: Callable[..., QuerySet[Any]], **kinds: type):
        self._build = build
        self._stand_ins: dict[str, str | int] = {
            name: f"stand-in {name}" if kind is str else _FIRST_NUMBER + index
            for index, (name, kind) in enumerate(kinds.items())
        }
        self._plans: dict[str, _Plan] = {}

    def first(self, **values: str | int) -> Any | None:
        """The first row as a model instance with its related ones, or None: one query."""
        plan = self._plans.get(connection.vendor)
        if plan is None:
            plan = self._plans[connection.vendor] = _Plan(self._build, self._stand_ins)
        return plan.first(values)


class _Plan:
    """The SQL of a query on one kind of database, and how a row becomes instances."""

    def __init__(self, build: Callable[..., QuerySet[Any]], stand_ins: dict[str, str | int]):
        query = build(**stand_ins)[:1].query
        compiler = query.get_compiler(connection=connection)
        self.sql, given = compiler.as_sql()
        names = {value: name for name, value in stand_ins.items()}
        # Everything that is no stand-in is part of the query itself.
        self.values = [(names.get(value), value) for value in given]
        missing = set(stand_ins) - {name for name, _ in self.values}
        if missing:
            raise ValueError(f"the query does not use {', '.join(sorted(missing))}")
        select, info = compiler.select, compiler.klass_info
        self.converters = compiler.get_converters([column for column, *_ in select])
        self.apply = compiler.apply_converters
        columns = info["select_fields"]
        self.start, self.end = columns[0], columns[-1] + 1
        self.model: type[Model] = info["model"]
        self.fields = [column.target.attname for column, *_ in select[self.start : self.end]]
        self.related = get_related_populators(info, select, connection.alias)

    def first(self, values: dict[str, str | int]) -> Any | None:
        bound = [value if name is None else values[name] for name, value in self.values]
        with connection.cursor() as cursor:
            cursor.execute(self.sql, bound)
            row = cursor.fetchone()
        if row is None:
            return None
        row = next(iter(self.apply([row], self.converters)))
        instance = self.model.from_db(connection.alias, self.fields, row[self.start : self.end])
        for populator in self.related:
            populator.populate(row, instance)
        return instance


def insert_rows(model: type[Model], fields: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> int:
    """Insert ``rows`` in one statement, values in the order of ``fields``; the last row's id."""
    if not rows:
        raise ValueError("no rows to insert")
    columns = [_field(model, name) for name in fields]
    values = [
        column.get_db_prep_save(value, connection)
        for row in rows
        for column, value in zip(columns, row, strict=True)
    ]
    with connection.cursor() as cursor:
        cursor.execute(_insert_sql(model, fields, len(rows)), values)
        return int(cursor.fetchall()[-1][0])


def update_row(instance: Model, *fields: str) -> None:
    """Write ``fields`` of a row that the caller has locked, as they are on ``instance``."""
    model = type(instance)
    values = [
        _field(model, name).get_db_prep_save(getattr(instance, name), connection) for name in fields
    ]
    with connection.cursor() as cursor:
        cursor.execute(_update_sql(model, fields), [*values, instance.pk])


@cache
def _field(model: type[Model], name: str) -> Any:
    return model._meta.get_field(name)


@lru_cache(maxsize=256)
def _insert_sql(model: type[Model], fields: tuple[str, ...], n_rows: int) -> str:
    columns = ", ".join(_quoted(_field(model, name).column) for name in fields)
    row = "(" + ", ".join(["%s"] * len(fields)) + ")"
    table, key = _quoted(model._meta.db_table), _quoted(model._meta.pk.column)
    return f"INSERT INTO {table} ({columns}) VALUES {', '.join([row] * n_rows)} RETURNING {key}"


@cache
def _update_sql(model: type[Model], fields: tuple[str, ...]) -> str:
    changes = ", ".join(f"{_quoted(_field(model, name).column)} = %s" for name in fields)
    table, key = _quoted(model._meta.db_table), _quoted(model._meta.pk.column)
    return f"UPDATE {table} SET {changes} WHERE {key} = %s"


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)
