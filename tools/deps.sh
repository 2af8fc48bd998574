#!/usr/bin/env bash
# Installs what tests, linters and the BPF build need from Debian. Does nothing
# where everything is there. What a user needs to build and run is only Go.
set -euo pipefail

packages=(
  # Building and checking the BPF objects.
  clang-19 clang-format-19 llvm-19 libbpf-dev
  # Linting.
  git shellcheck
  # Namespaces, peers and tools that the tests run.
  conntrack curl dnsperf dnsutils ethtool iperf3 iproute2 ipset iptables nftables nginx-light procps tcpdump unbound wrk
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "deps: everything is installed"
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  echo "deps: this needs Debian (apt-get); install what matches: ${missing[*]}" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "deps: installing needs root: run sudo make deps. Missing: ${missing[*]}" >&2
  exit 1
fi

# The name server and the web server must not start by themselves: the tests run
# their own in namespaces. policy-rc.d is how a package is told so; one that
# stands there already is left alone.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi

echo "deps: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
log=$(mktemp)
if ! { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
  cat "$log" >&2
  echo "deps: apt-get failed; its output is above" >&2
  rm -f "$log"
  exit 1
fi
rm -f "$log"

# Where an init runs, what was installed only now must not start at the next boot.
if [ -d /run/systemd/system ]; then
  for package in "${missing[@]}"; do
    case $package in
      nginx-light) systemctl --quiet disable nginx.service || true ;;
      unbound) systemctl --quiet disable unbound.service || true ;;
      nftables) systemctl --quiet disable nftables.service || true ;;
    esac
  done
fi
echo "deps: installed ${#missing[@]} packages"
