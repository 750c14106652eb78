FROM python:3.11-slim

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

RUN useradd --create-home --uid 10001 suffice \
    && install --directory --owner suffice --group suffice /data /app/static-collected

WORKDIR /app
COPY requirements.txt .
RUN pip install --require-hashes -r requirements.txt
COPY . .
# Whatever the umask of the checkout was, the user below may read, and only read.
RUN chmod -R a+rX .

ENV SUFFICE_ENV=production \
    SUFFICE_DATA_DIR=/data \
    SUFFICE_STATIC_DIR=/app/static-collected

USER suffice

# Collecting needs complete settings but no database; these values are in no later layer's
# environment. The collected files belong to the image, not to the data volume, which outlives it.
RUN SECRET_KEY="$(python -c 'import secrets; print(secrets.token_hex(40))')" \
    DATABASE_URL=postgresql://nobody@localhost/none \
    SUFFICE_PUBLIC_URL=https://localhost \
    python manage.py collectstatic --no-input

EXPOSE 8000
VOLUME /data

# The proxy's own headers: without them the answer would be a redirect, or a refused host.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD \
    ["python", "-c", "import os, urllib.parse as p, urllib.request as r; u = p.urlsplit(os.environ['SUFFICE_PUBLIC_URL']); r.urlopen(r.Request('http://127.0.0.1:8000/healthz', headers={'Host': u.netloc, 'X-Forwarded-Proto': u.scheme}), timeout=4)"]

# GRANIAN_WORKERS sets the number of processes; each answers four requests at a time.
CMD ["granian", "--interface", "wsgi", "studyapp.wsgi:application", "--host", "0.0.0.0", \
     "--port", "8000", "--blocking-threads", "4", "--no-ws", "--respawn-failed-workers"]
