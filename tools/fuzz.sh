#!/usr/bin/env bash
# Fuzzes every parser for FUZZTIME (default 10m) each, one after the other. A
# crash leaves its input in the package's testdata/fuzz: commit it with the fix.
# FUZZ narrows the run to targets whose package or name it matches. Arguments are for go test.
set -euo pipefail
cd "$(dirname "$0")/.."
fuzztime=${FUZZTIME:-10m}

found=0
while IFS=: read -r file name; do
  package=./$(dirname "$file")
  [[ "$package $name" =~ ${FUZZ:-.} ]] || continue
  found=$((found + 1))
  echo "fuzz: $name in $package for $fuzztime"
  # By default the fuzzer makes each interesting input smaller for up to a minute, in which it finds nothing: inputs of sealed
  # packets, which it can hardly make smaller, keep it at that for good.
  go test "$@" -run='^$' -fuzz="^$name\$" -fuzztime="$fuzztime" -fuzzminimizetime=20x "$package"
done < <(grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' -- *[a-z]/ | sed 's/func //' | sort)

if [ "$found" -eq 0 ]; then
  echo "fuzz: no fuzz target matches '${FUZZ:-.}'" >&2
  exit 1
fi
echo "fuzz: $found targets, no crash"
