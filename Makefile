# Every target works on a fresh machine with Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup demo run worker test lint bench migrations-check

setup: $(STAMP)

# The stamp is written last, so a broken installation is done again.
$(STAMP): requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	touch $(STAMP)

demo: setup
	$(BIN)/python manage.py demo

run: setup
	$(BIN)/python manage.py migrate --no-input
	$(BIN)/python manage.py runserver --insecure

worker: setup
	$(BIN)/celery -A studyapp worker --loglevel INFO

test: setup
	$(BIN)/python -m pytest
	SUFFICE_TEST_BACKEND=postgres $(BIN)/python -m pytest tests/studyapp tests/flows \
		--ignore=tests/flows/test_browser_accessibility.py --ignore=tests/flows/test_browser_faults.py \
		--ignore=tests/flows/test_browser_researcher.py

lint: setup migrations-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

migrations-check: setup
	$(BIN)/python manage.py makemigrations --check --dry-run

bench: setup
	$(BIN)/python -m bench
