#!/usr/bin/env bash
# The browser tests need Chromium. Installs Debian's where it is missing and can be; elsewhere the
# browser tests skip and say so (with CI=true they fail).
set -euo pipefail
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && exit 0
done
[ -n "${TRACEMILL_CHROMIUM:-}" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "setup: chromium (Debian package)" >&2
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
else
  echo "setup: no Chromium found: the browser tests will be skipped (install chromium, or set TRACEMILL_CHROMIUM)" >&2
fi
