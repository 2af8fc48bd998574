#!/usr/bin/env bash
# What `make test` and CI run: every check, each to its end, and a summary. Needs
# root for BPF and network namespaces. In CI (CI set) a skipped test is a failure.
# shellcheck disable=SC2317 # the functions are called through step
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ]; then
  echo 'make test needs root: it loads BPF programs and makes network namespaces.' >&2
  echo "Run: sudo env \"PATH=\$PATH\" make test. Without root: make test-unit." >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
again=

step() { # NAME COMMAND...: runs it, notes how it ended and how long it took, goes on
  local name=$1 start=$SECONDS result=ok
  shift
  echo "== $name"
  "$@" || { result=FAILED; failed=1; }
  printf '%-16s %-6s %4d s\n' "$name" "$result" $((SECONDS - start)) >>"$work/steps"
}

# packages PATTERN: those whose path below the module matches; none is fine while
# a part of the house is not built yet.
module=$(go list -m)
all=$(go list ./...)
packages() { grep -E "^$module/($1)$" <<<"$all" || true; }
others() { grep -vE "^$module/($1)$" <<<"$all" || true; }

# What loads programs or makes namespaces runs one package at a time, never from
# the cache. The rest is plain Go.
dataplane='internal/(chain|datapath|lab/netns)|test/datapath'
whole='internal/(cli|daemon|lab/demo|lab/bench|lab/bench/(dut|scenario|trafficgen))|test/(browser|e2e)'
concurrent='internal/(api|client|nameserver)'

stage() { # NAME PACKAGES FLAGS...: a run of go test whose events go to standard output
  local name=$1 list=$2 start=$SECONDS
  shift 2
  [ -n "$list" ] || return 0
  # shellcheck disable=SC2086 # a list of packages, one word each
  go test -json $list "$@" || echo "$name" >>"$work/failed"
  printf '  %-14s %-6s %4d s\n' "$name" "" $((SECONDS - start)) >>"$work/stages"
}

stages() {
  stage unit "$(others "$dataplane|$whole")" -timeout=10m
  # The race detector needs a C compiler; deps brought one.
  CC=clang-19 CGO_ENABLED=1 stage race "$(packages "$concurrent")" -race -short -timeout=10m
  stage datapath "$(packages "$dataplane")" -count=1 -p=1 -timeout=30m
  stage tcx "$(packages test/datapath)" -count=1 -timeout=30m -mode=tcx
  # Whole gateways wait most of the time: two at a time for each CPU.
  stage e2e "$(packages "$whole")" -count=1 -p=1 -parallel=$(($(nproc) * 2)) -timeout=30m
  (cd tools && go test -json ./testsummary) || echo tools >>"$work/failed"
}

# again: what failed is run once more, alone. Real programs in real time lose races where other users have the CPUs;
# what is broken fails again, and many failures are no races.
again() {
  local package name mode modes
  if [ "$(wc -l <"$work/tests")" -gt 5 ] || ! grep -q . "$work/tests"; then return 1; fi
  while read -r package name; do
    if [ -z "$name" ]; then return 1; fi
    modes='-count=1'
    if [ "$package" = "$module/test/datapath" ]; then modes='-mode=xdp -mode=tcx'; fi
    for mode in $modes; do
      echo "again: $package $name $mode"
      go test "$package" -count=1 -timeout=10m -run "^$name\$" "$mode" </dev/null || return 1
    done
    again="$again $name"
  done <"$work/tests"
  : >"$work/failed"
}

run_tests() {
  go build -C tools -buildvcs=false -o "$work/testsummary" ./testsummary || return 1
  : >"$work/failed"
  stages 2>&1 | "$work/testsummary" -failed "$work/tests" | tee "$work/summary" || again || return 1
  if [ -s "$work/failed" ]; then
    echo "test: go test failed in: $(tr '\n' ' ' <"$work/failed")" >&2
    return 1
  fi
}

step deps tools/deps.sh
step verify-generate tools/verify-generate.sh
step build make --no-print-directory build
step lint make --no-print-directory lint
step tests run_tests

echo "== summary"
cat "$work/steps"
if [ -f "$work/stages" ]; then cat "$work/stages"; fi
printf '%-16s %-6s %4d s\n' total "$([ $failed -eq 0 ] && echo ok || echo FAILED)" "$SECONDS"
# The counts once more, as the last line.
if [ -f "$work/summary" ]; then tail -n 1 "$work/summary"; fi
if [ -n "$again" ]; then echo "passed only when they ran again, alone:$again"; fi
exit "$failed"
