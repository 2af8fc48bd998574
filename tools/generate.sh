#!/usr/bin/env bash
# Builds the BPF objects and their Go types again.
set -euo pipefail
cd "$(dirname "$0")/.."
# In two halves of about the same length: a compiler has one CPU.
printf '%s\n' -run -skip | xargs -P 2 -I{} go generate {} tcx ./...
