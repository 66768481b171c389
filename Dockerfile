# The server over HTTP, with the embedding model inside: works offline, needs no key.
#
#   docker build -t deepcritical-mcp .
#   token=$(openssl rand -hex 16); echo "$token"
#   docker run -p 127.0.0.1:8000:7860 --read-only --tmpfs /tmp -e DEEPCRITICAL_AUTH_TOKENS="me:$token" deepcritical-mcp
#
# Fit for Hugging Face Spaces as it is (user 1000, port 7860): set DEEPCRITICAL_AUTH_TOKENS as a secret of the Space and
# DEEPCRITICAL_ALLOWED_HOSTS=*.hf.space as a variable.

FROM python:3.12-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /app
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
COPY packaging/unneeded.txt ./
RUN /app/bin/pip install ".[redis]" \
 && /app/bin/pip uninstall --yes -r unneeded.txt \
 && /app/bin/pip uninstall --yes pip

FROM python:3.12-slim-bookworm
RUN useradd --uid 1000 --create-home user
COPY --from=build /app /app
# What is written goes below /tmp: the root may be read-only.
ENV PATH=/app/bin:$PATH \
    HOME=/home/user \
    HF_HOME=/tmp/huggingface \
    DEEPCRITICAL_CACHE_DIR=/tmp/deepcritical \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 1000:1000
WORKDIR /home/user
EXPOSE 7860
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7860/health', timeout=4)"]
ENTRYPOINT ["deepcritical-mcp"]
CMD ["serve", "--transport", "http", "--host", "0.0.0.0", "--port", "7860"]
