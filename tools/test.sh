#!/usr/bin/env bash
# test.sh [PART...]: what `make test` (quick), `make test-all` and CI run: every check, each to its end, and a summary.
# Needs root for BPF and network namespaces. In CI (CI set) a skipped test is a failure.
#
# A part other than quick that has passed at this commit is not run again. With LIMIT, in minutes, the parts that would
# not end in time are left for another turn; the commit says which is the first.
# shellcheck disable=SC2317 # the functions are called through step
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ]; then
  echo 'make test needs root: it loads BPF programs and makes network namespaces.' >&2
  echo "Run: sudo env \"PATH=\$PATH\" make test. Without root: make test-unit." >&2
  exit 1
fi

# The minutes that each part takes at most on two cores; no run of go test may take twice as long. test/repo wants each to
# end within a turn of CI.
declare -A minutes=([quick]=10 [tcx]=12 [daemon]=14 [e2e]=18 [alerts]=8 [browser]=18 [page]=10 [lab]=15 [explain]=12
  [matrix-http]=20 [matrix-https]=20 [matrix-both]=20 [clients]=25 [sites]=20 [measures]=36 [requests]=20 [transfers]=38 [page-load]=15 [packages]=20 [fuzz]=22)
slow=(tcx daemon e2e alerts browser page lab explain matrix-http matrix-https matrix-both clients sites measures requests transfers page-load packages fuzz)

# The parts in which tests may take many minutes, and the tests that do; what these log is told. test/repo holds this
# against the tests that ask for it.
declare -A lengthy=(
  [alerts]='EachAlertHasItsStory'
  [matrix-http]='MatrixHTTP'
  [matrix-https]='MatrixHTTPS'
  [matrix-both]='MatrixBoth|MoreNamesThanAddresses'
  [clients]='HowLongAddressesAreHeld|WhatRefusalDoes'
  [sites]='HundredsOfSitesBehindOneAddress|QUICRightHost|RightHost'
  [measures]='BulkBesideTheKernel|FloodedPoolAnswersByCookies|ForgedQuestionsAtFullRate|ForgedQuestionsKeepNobodyAway|ForgedSYNsKeepNobodyAway|HalfHellosKeepNobodyAway|MillionHosts|MillionSessionsListed|NeverAnotherHost|ScrapedWithAMillionSessions|PageBesideAMillionSessions|ThousandFetches|TraceInADayOfMappings|UnanswerableQuestionsTakeNothingFromOthers|WatchedCostsLittle|WebWithoutDaemon'
  [requests]='FuzzedRequests'
  [transfers]='WebTransfersBesidePlain|WebTransfersWhole'
  [page-load]='LargePool'
  [packages]='Backup|BillListsEveryModule|FirstName|ImageServesANameByItsLayerAlone|InstallInAChroot|Lintian|Machine|PackagesAreReproducible|PackageStates|RPMInstallsInATree|SumsAreSigned'
)

parts=("$@")
if [ "$#" -eq 0 ]; then parts=(quick); fi
if [ "${1:-}" = slow ]; then parts=("${slow[@]}"); fi
if [ "${1:-}" = all ]; then parts=(quick "${slow[@]}"); fi
for part in "${parts[@]}"; do
  if [ -z "${minutes[$part]:-}" ]; then
    echo "test: there is no part $part; there are: quick ${slow[*]}, slow and all" >&2
    exit 2
  fi
done

# Where parts that have passed at this commit are noted; nowhere in a tree that was changed.
clean_commit() { # prints it, or nothing in a tree that was changed
  if [ -z "$(git status --porcelain 2>/dev/null || echo unknown)" ]; then git rev-parse --short=12 HEAD; fi
}
commit=$(clean_commit)
passed=${commit:+bin/passed/$commit}
if [ -n "${LIMIT:-}" ] && [ -n "$commit" ]; then
  first=$((16#${commit:0:6} % ${#parts[@]}))
  parts=("${parts[@]:first}" "${parts[@]:0:first}")
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

# Of packages those that take longest are first: what runs alone at the end has a CPU idle beside it.
module=$(go list -m)
longest="^$module/(test/datapath|internal/(names/allocation|nameserver|nf))\$"
all=$(go list ./...)
all=$(grep -E "$longest" <<<"$all"; grep -vE "$longest" <<<"$all")
# packages PATTERN: those whose path below the module matches.
packages() { grep -E "^$module/($1)$" <<<"$all" || true; }
others() { grep -vE "^$module/($1)$" <<<"$all" || true; }

# What loads programs or makes namespaces is never taken from the cache. The rest is plain Go.
dataplane='internal/(nf(/[a-z]+)?|datapath|diagnose|tenants|lab/netns)|test/datapath'
lab='internal/lab/(bench|bench/(dut|scenario|trafficgen)|demo|oncpu)'
whole="internal/daemon|$lab|test/(browser|e2e|page)"
bench='External|Interrupted$|Killed|WaitsForAnother' # those of internal/cli that run the lab's programs
concurrent='internal/(api|client|lifecycle|nameserver)'
raced="$concurrent|internal/daemon" # with the race detector

# The main stories of whole gateways and of the daemon, told in a minute; the parts e2e and daemon have all.
stories='NameToPage|ReloadOpensAtOnce|ReloadOfABadFileChangesNothing|KillLosesNoTransfer|BanOutlivesItsDaemon|Dnat|SessionsEnd|StopPutsEverythingBack|ServiceThatFailsChangesNothing|User|MissingCapability|SystemdIsTold|Handover|Roles|Now'

stage() { # NAME PACKAGES FLAGS...: a run of go test whose events go to standard output
  local name=$1 list=$2 start=$SECONDS
  shift 2
  # Without packages go test would take this folder. What it would vet, lint has; nobody debugs what it links.
  # shellcheck disable=SC2086 # a list of packages, one word each
  go test -json -vet=off '-ldflags=-s -w' "-timeout=$((2 * minutes[$part]))m" ${list:-./no/packages/for/$name} "$@" || echo "$name" >>"$work/failed"
  printf '  %-14s %-6s %4d s\n' "$name" "" $((SECONDS - start)) >>"$work/stages"
}

# What loads programs or makes namespaces waits for the kernel most of the time: two tests at a time for each CPU.
waiting=(-count=1 -p=1 "-parallel=$(($(nproc) * 2))")
# The race detector needs a C compiler; deps brought one.
with_race() { CC=clang-19 CGO_ENABLED=1 "$@" -race; }

# The data plane's tests leave a quarter of two CPUs idle: the others run beside them. Both are of a pipe, through which
# nothing goes, as Ctrl-C ends both; what follows & would go on.
quick_tests() {
  # shellcheck disable=SC2260
  beside_datapath >"$work/beside" |
    GOGC=200 stage datapath "$(packages "$dataplane")" "${waiting[@]}" -p=2 "-parallel=$(($(nproc) * 8))" # some wait for planes, and the kernel gives maps back slowly
  cat "$work/beside"
}
beside_datapath() {
  stage unit "$(others "$dataplane|$whole|$concurrent")" -skip "^TestBench($bench)"
  with_race stage race "$(packages "$concurrent")"
  stage stories "$(packages 'test/e2e|test/page|internal/daemon')" "${waiting[@]}" -p=2 -run "^Test($stories)\$"
  (cd tools && go test -json ./testsummary ./constants ./manual) || echo tools >>"$work/failed"
}
# The data plane at tcx, then what is random for longer in both forms.
long=(-steps=10000 -swaps=100)
longer='ChainsChangeUnderTraffic|Differential|ProtectionOfIPv6ChangesUnderTraffic|ProtectionRule12_NoPacketMeetsTwoGenerations'
tcx_tests() {
  stage tcx "$(packages test/datapath)" "${waiting[@]}" -mode=tcx "${long[@]}"
  stage long "$(packages test/datapath)" "${waiting[@]}" -run "^Test($longer)\$" "${long[@]}"
}
daemon_tests() {
  with_race stage daemon "$(packages "$raced")" -count=1
  stage cli "$(packages internal/cli)" "${waiting[@]}"
}
e2e_tests() { stage e2e "$(packages test/e2e)" "${waiting[@]}"; }
browser_tests() { stage browser "$(packages test/browser)" "${waiting[@]}"; }
page_tests() { stage page "$(packages test/page)" "${waiting[@]}"; }
# What is explained of 100 flows through each of 1,000 configurations is what then becomes of them.
explain_tests() {
  stage explain "$(packages internal/daemon)" -count=1 -run '^TestExplainDifferential$' -configurations=1000 -flows=100
}
lab_tests() { stage lab "$(packages "$lab")" "${waiting[@]}"; }
at_length() { # PACKAGES FLAGS...
  local list=$1
  shift
  stage "$part" "$(packages "$list")" "${waiting[@]}" "$@" -run "^Test(${lengthy[$part]})\$"
}
two_scenes='-parallel=2' # of 18 browsers each: more of them take their time from each other
matrix-http_tests() { at_length test/browser "$two_scenes"; }
matrix-https_tests() { at_length test/browser "$two_scenes"; }
matrix-both_tests() { at_length test/browser "$two_scenes"; }
clients_tests() { at_length test/browser; }
sites_tests() { at_length test/browser; }
alerts_tests() { at_length test/e2e; }
measures_tests() { at_length test/e2e; at_length internal/natlog; }
requests_tests() { at_length test/e2e; }
transfers_tests() { at_length test/e2e; }
page-load_tests() { at_length test/page; }
packages_tests() { at_length test/packages; }
# What is read of a stranger's first words for ten minutes, every other parser for seconds.
fuzz_tests() { fuzzed 150s /web/hello && fuzzed 10s .; }
fuzzed() { FUZZTIME=$1 FUZZ=$2 tools/fuzz.sh -json || echo "fuzz of $2" >>"$work/failed"; }

# again: the tests that failed are run once more, alone. Real programs in real time lose races where other users have the
# CPUs; what is broken fails again, and many failures are no races. A race of the program's own is never forgiven. What draws at
# random draws the same again, by the flags that it told. A test of the parts in $final may take as long as its part: none is
# run again there.
final=" lab explain fuzz ${!lengthy[*]} "
again() { # PART
  local package name mode modes run flags
  if [[ "$final" = *" $1 "* ]]; then return 1; fi
  if [ "$(wc -l <"$work/tests")" -gt 5 ] || ! grep -q . "$work/tests"; then return 1; fi
  if grep -q 'WARNING: DATA RACE' "$work/summary-$1"; then return 1; fi
  while read -r package name; do
    if [ -z "$name" ]; then return 1; fi
    modes='-count=1'
    if [ "$package" = "$module/test/datapath" ]; then modes='-mode=xdp -mode=tcx'; fi
    # shellcheck disable=SC2207 # words without blanks
    flags=($(sed -nE "s/.*again: .*-run '?${name}[^ ]* (-.*)/\1/p" "$work/summary-$1" | head -n 1))
    if [ "$1" = tcx ]; then flags+=("${long[@]}"); fi
    run=
    if grep -qE "^$module/($raced)\$" <<<"$package"; then run=with_race; fi
    for mode in $modes; do
      echo "again: $package $name $mode ${flags[*]}"
      $run go test "$package" -count=1 "-timeout=${minutes[$1]}m" -run "^$name\$" "$mode" "${flags[@]}" </dev/null || return 1
    done
    again="$again $name"
  done < <(sort -u "$work/tests") # two stages may have run a test
  : >"$work/failed"
}

tests() { # PART
  local summary=("$work/testsummary" -failed "$work/tests")
  unset REALMGATE_LENGTHY REALMGATE_HOLDERS # a part is the same whoever runs it
  if [ -n "${lengthy[$1]:-}" ]; then
    export REALMGATE_LENGTHY=1
    summary+=(-logs)
  fi
  : >"$work/failed"
  "$1_tests" 2>&1 | "${summary[@]}" | tee "$work/summary-$1" || again "$1" || return 1
  if [ -s "$work/failed" ]; then
    echo "test: go test failed in: $(tr '\n' ' ' <"$work/failed")" >&2
    return 1
  fi
  # Not where files were changed meanwhile, or a test was skipped.
  if [ -n "$passed" ] && [ "$(clean_commit)" = "$commit" ] && grep -q ' 0 skipped$' "$work/summary-$1"; then
    mkdir -p "$passed"
    touch "$passed/$1"
  fi
}

step deps tools/deps.sh
go build -C tools -buildvcs=false -o "$work/testsummary" ./testsummary
for part in "${parts[@]}"; do
  if [ "$part" = quick ]; then
    step verify-generate tools/verify-generate.sh
    step build make --no-print-directory build
    step lint make --no-print-directory lint
  elif [ -n "$passed" ] && [ -f "$passed/$part" ]; then
    printf '%-16s has passed at this commit: rm %s to run it again\n' "$part" "$passed/$part" >>"$work/steps"
    continue
  elif [ -n "${LIMIT:-}" ] && [ $((SECONDS / 60 + minutes[$part])) -gt "$LIMIT" ]; then
    printf '%-16s left for another turn\n' "$part" >>"$work/steps"
    continue
  fi
  step "$part" tests "$part"
done

echo "== summary"
cat "$work/steps"
if [ -f "$work/stages" ]; then cat "$work/stages"; fi
printf '%-16s %-6s %4d s\n' total "$([ $failed -eq 0 ] && echo ok || echo FAILED)" "$SECONDS"
if [ "${parts[*]}" = quick ]; then echo "not run: the slow parts, ${slow[*]}: make test-slow"; fi
if [ -n "$again" ]; then echo "passed only when they ran again, alone:$again"; fi
# The counts of all parts together, as the last line.
if compgen -G "$work/summary-*" >/dev/null; then
  tail -qn 1 "$work"/summary-* | awk '{ p += $1; f += $3; s += $5 } END { if (NR) printf "%d passed, %d failed, %d skipped\n", p, f, s }'
fi
exit "$failed"
