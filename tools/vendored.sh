#!/usr/bin/env bash
# vendored.sh: writes internal/page/assets/vendored anew: the scripts of others that the page has, each of a pinned release, with
# its licence, and LIST, by which a test knows them. Needs npm and node; users and CI need neither.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=internal/page/assets/vendored
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fetch() { # PACKAGE VERSION
  (cd "$work" && npm pack --silent "$1@$2" >/dev/null && mkdir -p "$1" && tar -xzf "$1-$2.tgz" -C "$1" --strip-components=1)
}
fetch htm 3.1.1
fetch preact 10.29.8 # of which htm has an earlier one inside: for its licence
fetch uplot 1.6.32
fetch world-atlas 2.0.2
fetch topojson-client 3.1.0
fetch i18n-iso-countries 7.14.0

rm -rf "$folder"
mkdir -p "$folder"
take() { # FILE AS PACKAGE VERSION LICENCE TEXT
  install -m 644 "$work/$1" "$folder/$2"
  note "$2" "$3" "$4" "$5" "$work/$6"
}
note() { # FILE PACKAGE VERSION LICENCE TEXT
  printf '%s  %s  %s %s  %s\n' "$(sha256sum <"$folder/$1" | cut -d' ' -f1)" "$1" "$2" "$3" "$4" >>"$folder/LIST"
  install -m 644 "$5" "$folder/$2.LICENSE.txt"
}
take htm/preact/standalone.module.js preact.js htm 3.1.1 'Apache-2.0 AND MIT' htm/LICENSE
install -m 644 "$work/preact/LICENSE" "$folder/preact.LICENSE.txt"
take uplot/dist/uPlot.esm.js uplot.js uplot 1.6.32 MIT uplot/LICENSE
take uplot/dist/uPlot.min.css uplot.css uplot 1.6.32 MIT uplot/LICENSE

node tools/vendored/map.mjs "$work/world-atlas/countries-110m.json" "$work/topojson-client/dist/topojson-client.js" \
  "$work/i18n-iso-countries/codes.json" >"$folder/world.js"
note world.js world-atlas 2.0.2 ISC "$work/world-atlas/LICENSE"

# For tests alone: it is in no program.
fetch axe-core 4.14.1
tests=test/page/testdata
mkdir -p "$tests"
install -m 644 "$work/axe-core/axe.min.js" "$tests/axe.min.js"
install -m 644 "$work/axe-core/LICENSE" "$tests/axe-core.LICENSE.txt"
printf '%s  axe.min.js  axe-core 4.14.1  MPL-2.0\n' "$(sha256sum <"$tests/axe.min.js" | cut -d' ' -f1)" >"$tests/LIST"
