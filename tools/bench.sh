#!/usr/bin/env bash
# What `make bench` runs: Realmgate beside netfilter, in namespaces, in the quick
# profile, and the reports below bin/bench. SESSIONS and REPEAT make it longer or
# shorter.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ]; then
  echo 'make bench needs root: it loads BPF programs and makes network namespaces.' >&2
  echo "Run: sudo env \"PATH=\$PATH\" make bench" >&2
  exit 1
fi

tools/deps.sh
make --no-print-directory build

failed=
# Tear-down tells the memory of a session too.
for scenario in nat44-establish nat44-throughput nat44-teardown; do
  printf '\n== %s\n' "$scenario"
  bin/realmgate bench run "$scenario" --dut realmgate,iptables,nftables \
    --sessions "${SESSIONS:-1000000}" --repeat "${REPEAT:-5}" --out "bin/bench/$scenario" || failed="$failed $scenario"
done
printf '\nThe reports are in bin/bench/*/report.html. It took %d s.\n' "$SECONDS"
if [ -n "$failed" ]; then
  echo "Without a valid result:$failed" >&2
  exit 1
fi
