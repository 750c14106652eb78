"""Rules that constraints cannot say, as triggers on SQLite and PostgreSQL.

- events: never updated; deleted only for an enrolment that withdrew; steps count 1, 2, 3, …
- answers, to trials and to the questionnaire: never updated; deleted only on withdrawal
- trials: the frozen stimulus never changes
- rankings: the order is a permutation of the claim's candidates
- selections: ascending positions of the claim's candidates, at least one
- the audit log: never updated, never deleted; kept consent texts: never updated
- versions of a study: never updated
"""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper

SQLITE = {
    "event_no_update": """
        CREATE TRIGGER event_no_update BEFORE UPDATE ON studyapp_event BEGIN
            SELECT RAISE(ABORT, 'events are insert only');
        END""",
    "event_no_delete": """
        CREATE TRIGGER event_no_delete BEFORE DELETE ON studyapp_event
        WHEN NOT EXISTS (SELECT 1 FROM studyapp_withdrawal w JOIN studyapp_trial t
            ON t.enrolment_id = w.enrolment_number WHERE t.id = OLD.trial_id) BEGIN
            SELECT RAISE(ABORT, 'events are deleted on withdrawal only');
        END""",
    "event_steps": """
        CREATE TRIGGER event_steps BEFORE INSERT ON studyapp_event
        WHEN NEW.step IS NOT NULL AND NEW.step <> 1 + (SELECT COALESCE(MAX(step), 0)
            FROM studyapp_event WHERE trial_id = NEW.trial_id) BEGIN
            SELECT RAISE(ABORT, 'steps of a trial are consecutive');
        END""",
    "answer_no_update": """
        CREATE TRIGGER answer_no_update BEFORE UPDATE ON studyapp_verificationanswer BEGIN
            SELECT RAISE(ABORT, 'a decision cannot be changed');
        END""",
    "answer_no_delete": """
        CREATE TRIGGER answer_no_delete BEFORE DELETE ON studyapp_verificationanswer
        WHEN NOT EXISTS (SELECT 1 FROM studyapp_withdrawal w JOIN studyapp_trial t
            ON t.enrolment_id = w.enrolment_number WHERE t.id = OLD.trial_id) BEGIN
            SELECT RAISE(ABORT, 'decisions are deleted on withdrawal only');
        END""",
    "questionnaire_no_update": """
        CREATE TRIGGER questionnaire_no_update BEFORE UPDATE ON studyapp_questionnaireanswer BEGIN
            SELECT RAISE(ABORT, 'an answer cannot be changed');
        END""",
    "questionnaire_no_delete": """
        CREATE TRIGGER questionnaire_no_delete BEFORE DELETE ON studyapp_questionnaireanswer
        WHEN NOT EXISTS (SELECT 1 FROM studyapp_withdrawal w
            WHERE w.enrolment_number = OLD.enrolment_id) BEGIN
            SELECT RAISE(ABORT, 'answers are deleted on withdrawal only');
        END""",
    "trial_stimulus_frozen": """
        CREATE TRIGGER trial_stimulus_frozen BEFORE UPDATE OF stimulus ON studyapp_trial
        WHEN NEW.stimulus IS NOT OLD.stimulus BEGIN
            SELECT RAISE(ABORT, 'the stimulus of a trial is frozen');
        END""",
    "ranking_permutation_{op}": """
        CREATE TRIGGER ranking_permutation_{op} BEFORE {op} ON studyapp_ranking
        WHEN COALESCE((SELECT COUNT(*) <> c.n_candidates
                OR COUNT(DISTINCT j.value) <> c.n_candidates
                OR MIN(j.value) <> 0 OR MAX(j.value) <> c.n_candidates - 1
                OR SUM(j.type <> 'integer') > 0 OR json_type(NEW."order") <> 'array'
            FROM studyapp_claim c, json_each(NEW."order") j WHERE c.id = NEW.claim_id), 1) BEGIN
            SELECT RAISE(ABORT, 'a ranking orders every candidate once');
        END""",
    "selection_ascending_{op}": """
        CREATE TRIGGER selection_ascending_{op} BEFORE {op} ON studyapp_selection
        WHEN (SELECT COUNT(*) = 0 OR COUNT(DISTINCT j.value) <> COUNT(*) OR MIN(j.value) < 0
                OR MAX(j.value) >= MAX(c.n_candidates) OR SUM(j.type <> 'integer') > 0
                OR json_type(NEW.selected) <> 'array'
            FROM studyapp_claim c, json_each(NEW.selected) j WHERE c.id = NEW.claim_id)
          OR EXISTS (SELECT 1 FROM json_each(NEW.selected) a, json_each(NEW.selected) b
            WHERE b.key = a.key + 1 AND b.value <= a.value) BEGIN
            SELECT RAISE(ABORT, 'a selection holds ascending positions of candidates');
        END""",
    "audit_no_update": """
        CREATE TRIGGER audit_no_update BEFORE UPDATE ON studyapp_auditentry BEGIN
            SELECT RAISE(ABORT, 'the audit log is insert only');
        END""",
    "audit_no_delete": """
        CREATE TRIGGER audit_no_delete BEFORE DELETE ON studyapp_auditentry BEGIN
            SELECT RAISE(ABORT, 'the audit log is insert only');
        END""",
    "consent_text_no_update": """
        CREATE TRIGGER consent_text_no_update BEFORE UPDATE ON studyapp_consenttext BEGIN
            SELECT RAISE(ABORT, 'a consent text that was shown cannot be changed');
        END""",
    "version_no_update": """
        CREATE TRIGGER version_no_update BEFORE UPDATE ON studyapp_studyversion BEGIN
            SELECT RAISE(ABORT, 'a version of a study cannot be changed');
        END""",
}

POSTGRESQL_FUNCTIONS = {
    "suffice_refuse": """
        CREATE FUNCTION suffice_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
        END $$""",
    "suffice_delete_on_withdrawal": """
        CREATE FUNCTION suffice_delete_on_withdrawal() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NOT EXISTS (SELECT 1 FROM studyapp_withdrawal w JOIN studyapp_trial t
                ON t.enrolment_id = w.enrolment_number WHERE t.id = OLD.trial_id) THEN
                RAISE EXCEPTION '%', TG_ARGV[0]
                    USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN OLD;
        END $$""",
    "suffice_answer_deleted_on_withdrawal": """
        CREATE FUNCTION suffice_answer_deleted_on_withdrawal() RETURNS trigger
        LANGUAGE plpgsql AS $$
        BEGIN
            IF NOT EXISTS (SELECT 1 FROM studyapp_withdrawal w
                WHERE w.enrolment_number = OLD.enrolment_id) THEN
                RAISE EXCEPTION '%', TG_ARGV[0]
                    USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN OLD;
        END $$""",
    "suffice_event_steps": """
        CREATE FUNCTION suffice_event_steps() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.step <> 1 + (SELECT COALESCE(MAX(step), 0) FROM studyapp_event
                WHERE trial_id = NEW.trial_id) THEN
                RAISE EXCEPTION 'steps of a trial are consecutive'
                    USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        END $$""",
    "suffice_ranking_permutation": """
        CREATE FUNCTION suffice_ranking_permutation() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE n integer; given jsonb;
        BEGIN
            SELECT n_candidates INTO n FROM studyapp_claim WHERE id = NEW.claim_id;
            SELECT jsonb_agg(v ORDER BY v) INTO given FROM jsonb_array_elements(NEW."order") v;
            IF given IS DISTINCT FROM (SELECT jsonb_agg(i) FROM generate_series(0, n - 1) i) THEN
                RAISE EXCEPTION 'a ranking orders every candidate once'
                    USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        END $$""",
    "suffice_selection_ascending": """
        CREATE FUNCTION suffice_selection_ascending() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE n integer;
        BEGIN
            SELECT n_candidates INTO n FROM studyapp_claim WHERE id = NEW.claim_id;
            IF jsonb_array_length(NEW.selected) = 0 OR NEW.selected IS DISTINCT FROM (
                SELECT jsonb_agg(i ORDER BY i) FROM generate_series(0, n - 1) i
                WHERE NEW.selected @> to_jsonb(i)) THEN
                RAISE EXCEPTION 'a selection holds ascending positions of candidates'
                    USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        END $$""",
}

POSTGRESQL = {
    ("event_no_update", "studyapp_event"): (
        "BEFORE UPDATE ON studyapp_event FOR EACH ROW "
        "EXECUTE FUNCTION suffice_refuse('events are insert only')"
    ),
    ("event_no_truncate", "studyapp_event"): (
        "BEFORE TRUNCATE ON studyapp_event FOR EACH STATEMENT "
        "EXECUTE FUNCTION suffice_refuse('events are insert only')"
    ),
    ("answer_no_truncate", "studyapp_verificationanswer"): (
        "BEFORE TRUNCATE ON studyapp_verificationanswer FOR EACH STATEMENT "
        "EXECUTE FUNCTION suffice_refuse('a decision cannot be changed')"
    ),
    ("event_no_delete", "studyapp_event"): (
        "BEFORE DELETE ON studyapp_event FOR EACH ROW EXECUTE FUNCTION "
        "suffice_delete_on_withdrawal('events are deleted on withdrawal only')"
    ),
    ("event_steps", "studyapp_event"): (
        "BEFORE INSERT ON studyapp_event FOR EACH ROW WHEN (NEW.step IS NOT NULL) "
        "EXECUTE FUNCTION suffice_event_steps()"
    ),
    ("answer_no_update", "studyapp_verificationanswer"): (
        "BEFORE UPDATE ON studyapp_verificationanswer FOR EACH ROW "
        "EXECUTE FUNCTION suffice_refuse('a decision cannot be changed')"
    ),
    ("answer_no_delete", "studyapp_verificationanswer"): (
        "BEFORE DELETE ON studyapp_verificationanswer FOR EACH ROW EXECUTE FUNCTION "
        "suffice_delete_on_withdrawal('decisions are deleted on withdrawal only')"
    ),
    ("questionnaire_no_update", "studyapp_questionnaireanswer"): (
        "BEFORE UPDATE ON studyapp_questionnaireanswer FOR EACH ROW "
        "EXECUTE FUNCTION suffice_refuse('an answer cannot be changed')"
    ),
    ("questionnaire_no_delete", "studyapp_questionnaireanswer"): (
        "BEFORE DELETE ON studyapp_questionnaireanswer FOR EACH ROW EXECUTE FUNCTION "
        "suffice_answer_deleted_on_withdrawal('answers are deleted on withdrawal only')"
    ),
    ("questionnaire_no_truncate", "studyapp_questionnaireanswer"): (
        "BEFORE TRUNCATE ON studyapp_questionnaireanswer FOR EACH STATEMENT "
        "EXECUTE FUNCTION suffice_refuse('an answer cannot be changed')"
    ),
    ("trial_stimulus_frozen", "studyapp_trial"): (
        "BEFORE UPDATE OF stimulus ON studyapp_trial FOR EACH ROW "
        "WHEN (NEW.stimulus IS DISTINCT FROM OLD.stimulus) "
        "EXECUTE FUNCTION suffice_refuse('the stimulus of a trial is frozen')"
    ),
    ("audit_no_change", "studyapp_auditentry"): (
        "BEFORE UPDATE OR DELETE ON studyapp_auditentry FOR EACH ROW "
        "EXECUTE FUNCTION suffice_refuse('the audit log is insert only')"
    ),
    ("audit_no_truncate", "studyapp_auditentry"): (
        "BEFORE TRUNCATE ON studyapp_auditentry FOR EACH STATEMENT "
        "EXECUTE FUNCTION suffice_refuse('the audit log is insert only')"
    ),
    ("consent_text_no_update", "studyapp_consenttext"): (
        "BEFORE UPDATE ON studyapp_consenttext FOR EACH ROW "
        "EXECUTE FUNCTION suffice_refuse('a consent text that was shown cannot be changed')"
    ),
    ("version_no_update", "studyapp_studyversion"): (
        "BEFORE UPDATE ON studyapp_studyversion FOR EACH ROW "
        "EXECUTE FUNCTION suffice_refuse('a version of a study cannot be changed')"
    ),
    ("ranking_permutation", "studyapp_ranking"): (
        "BEFORE INSERT OR UPDATE ON studyapp_ranking FOR EACH ROW "
        "EXECUTE FUNCTION suffice_ranking_permutation()"
    ),
    ("selection_ascending", "studyapp_selection"): (
        "BEFORE INSERT OR UPDATE ON studyapp_selection FOR EACH ROW "
        "EXECUTE FUNCTION suffice_selection_ascending()"
    ),
}


def _sqlite_statements() -> dict[str, str]:
    statements = {}
    for name, sql in SQLITE.items():
        for op in ("insert", "update") if "{op}" in name else ("",):
            statements[name.format(op=op)] = sql.format(op=op)
    return statements


def install_triggers(connection: BaseDatabaseWrapper) -> None:
    """Create the triggers of every table there is; none of them may exist yet.

    An early migration installs them as well, when later tables are still missing.
    """
    tables = set(connection.introspection.table_names())
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            for sql in _sqlite_statements().values():
                if _sqlite_table(sql) in tables:
                    cursor.execute(sql)
            return
        for sql in POSTGRESQL_FUNCTIONS.values():
            cursor.execute(sql)
        for (name, table), rule in POSTGRESQL.items():
            if table in tables:
                cursor.execute(f"CREATE TRIGGER {name} {rule}")


def _sqlite_table(sql: str) -> str:
    """The table whose changes a trigger guards: the first one named after ON."""
    return sql.split(" ON ", 1)[1].split(None, 1)[0]


def remove_triggers(connection: BaseDatabaseWrapper) -> None:
    """Drop all triggers: the reverse of the migration, and the end of tests that really commit."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            for name in _sqlite_statements():
                cursor.execute(f"DROP TRIGGER IF EXISTS {name}")
            return
        for name, table in POSTGRESQL:
            cursor.execute(f"DROP TRIGGER IF EXISTS {name} ON {table}")
        for name in POSTGRESQL_FUNCTIONS:
            cursor.execute(f"DROP FUNCTION IF EXISTS {name}()")
