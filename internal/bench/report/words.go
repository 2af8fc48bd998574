package report

import (
	"maps"
	"slices"
	"strings"
)

// metrics says in plain words what is measured, by the first word of the metric's
// name: rate_both is a rate. A metric that is not here speaks for itself.
var metrics = map[string]string{
	"rate":       "frames or sessions that passed in a second",
	"cost":       "the time that the device adds to each frame or session, above the control",
	"throughput": "the highest rate without a lost frame",
	"loss":       "the share of frames that did not arrive",
	"latency":    "the time that a frame takes from tester to tester",
	"pdv":        "packet delay variation: the 99.9th percentile of the latency less the least",
	"teardown":   "sessions that were removed in a second",
	"capacity":   "sessions that the table holds",
	"memory":     "memory that sessions and their indexes take",
	"duration":   "how long it takes",
}

// gates says what each condition of a valid trial means.
var gates = map[string]string{
	"steal":      "others left the machine's CPU to us",
	"translated": "every frame that arrived had the addresses, ports and checksums that it should have",
	"complete":   "every frame that was sent arrived",
	"empty":      "the device had no session before the first frame",
	"counted":    "the device itself counts as many sessions as arrived",
	"timeout":    "the trial took less time than an idle session lives",
	"pace":       "the tester sent as fast as it was asked to",
	"generator":  "the tester sent as fast as it was asked to",
}

func meaning(metric string) string {
	word, _, _ := strings.Cut(metric, "_")
	word, _, _ = strings.Cut(word, "-")
	return metrics[word]
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
