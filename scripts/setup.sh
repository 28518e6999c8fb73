#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what building and testing gacer needs: Debian packages, a Python environment with pinned real clients.
# Idempotent: a second run with nothing changed only compares a stamp. Needs root for apt unless all is there.
# Options: --check  report what is missing, install nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ clang clang-format clang-tidy libclang-rt-14-dev cmake ninja-build ccache git python3 python3-venv binutils
  libboost-dev libfmt-dev libcli11-dev nlohmann-json3-dev libgtest-dev libgmock-dev libbenchmark-dev
  liblz4-dev libzstd-dev strace procps g++-aarch64-linux-gnu qemu-user musl-tools)
venv=.venv
stamp=$venv/.gacer-setup
minimum_cuda=12.4

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }

missing_packages() {
  local name
  for name in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || echo "$name"
  done
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -eq 0 ] && return
  [ "${check_only:-0}" = 1 ] && die "missing Debian packages: ${missing[*]}. Run scripts/setup.sh as root."
  local sudo=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "missing Debian packages: ${missing[*]}. Run as root: apt-get install ${missing[*]}"
    sudo=sudo
  fi
  say "installing ${missing[*]}"
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

find_nvcc() {
  local candidate
  for candidate in "${CUDA_HOME:-/nonexistent}/bin/nvcc" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
    [ -x "$candidate" ] && { echo "$candidate"; return; }
  done
}

check_cuda() {
  local nvcc version root
  nvcc=$(find_nvcc)
  [ -n "$nvcc" ] || die "no CUDA Toolkit >= $minimum_cuda found. Install NVIDIA's packages cuda-nvcc-13-0 cuda-cudart-dev-13-0 \
cuda-driver-dev-13-0 cuda-nvrtc-dev-13-0 cuda-cupti-dev-13-0 (developer.nvidia.com/cuda-downloads) or set CUDA_HOME."
  version=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
  [ "$(printf '%s\n' "$minimum_cuda" "$version" | sort -V | head -1)" = "$minimum_cuda" ] ||
    die "CUDA Toolkit $version at $nvcc is older than $minimum_cuda. Install a newer one or set CUDA_HOME."
  root=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
  for part in include/cuda.h include/cudaTypedefs.h lib64/stubs/libcuda.so; do
    [ -e "$root/$part" ] || [ -e "/usr/local/cuda/$part" ] ||
      die "CUDA Toolkit $version at $root lacks $part. Install cuda-driver-dev and cuda-cudart-dev of that version."
  done
  say "CUDA Toolkit $version at $root"
}

python_environment() {
  local want
  want=$(sha256sum scripts/requirements.txt | cut -d' ' -f1)
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && return
  [ "${check_only:-0}" = 1 ] && die "Python environment $venv is missing or outdated. Run scripts/setup.sh."
  say "Python environment in $venv"
  python3 -m venv "$venv" || die "python3 -m venv failed. Install python3-venv."
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r scripts/requirements.txt
  echo "$want" >"$stamp"
}

case "${1:-}" in
  '') ;;
  --check) check_only=1 ;;
  *) die "unknown option '$1'. Usage: scripts/setup.sh [--check]" ;;
esac
install_packages
check_cuda
python_environment
say "ready"
