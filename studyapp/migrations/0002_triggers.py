from django.db import migrations

from studyapp.triggers import install_triggers, remove_triggers


def install(apps, schema_editor):
    install_triggers(schema_editor.connection)


def remove(apps, schema_editor):
    remove_triggers(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [("studyapp", "0001_tables")]
    operations = [migrations.RunPython(install, remove)]
