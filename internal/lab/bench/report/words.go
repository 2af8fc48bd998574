package report

import (
	"maps"
	"slices"
	"strings"
)

// metrics says in plain words what is measured, by the metric's name or, where that
// is not here, by its first word: rate_reuse is a rate. A metric of which neither is
// here speaks for itself.
var metrics = map[string]string{
	"rate":       "how many passed in a second: frames, sessions or allocations",
	"packets":    "packets that passed in a second",
	"passed":     "sessions that passed in a second",
	"rate_reuse": "packets of sessions that exist that passed in a second, both ways",
	"cost_reuse": "the time that the device adds to a packet of a session that exists, above the control",
	"cost":       "the time that the device adds to each frame or session, above the control",
	"loss":       "the share of frames that did not arrive",
	"latency":    "the time that a frame takes from tester to tester",
	"delay":      "the time that a frame takes from tester to tester",
	"pdv":        "packet delay variation: the 99.9th percentile of the delay less the least",
	"teardown":   "how fast all sessions are removed",
	"capacity":   "sessions that the table holds",
	"memory":     "memory that sessions and their indexes take",
	"seconds":    "how long it takes",
	"most":       "the largest value that the kernel takes",
	"taken":      "1 where the kernel takes the value",
	"bucket":     "memory of a bucket of the hash table",

	"teardown_time":       "how long it takes to remove all sessions",
	"teardown_time_empty": "how long the same takes without any session",
	"memory_growth":       "memory that the device took for the sessions, beside what it had before",
	"seconds_add":         "how long it takes to add one rule to all others",

	"flow1":      "what arrived of the flow to port 53",
	"flow2":      "what arrived of the flow to port 123",
	"sent1":      "what was sent of the flow to port 53",
	"sent2":      "what was sent of the flow to port 123",
	"load1":      "what arrived of the flow to port 53, as fast as could be",
	"load2":      "what arrived of the flow to port 123, as fast as could be",
	"cpu":        "CPU time in use on the machine, of all CPUs",
	"cpu_packet": "CPU time of the machine for each packet that arrived",

	"switches": "context switches a second, from tasks that had been on the CPU for so long",

	"untranslated": "the share of the packets that came untranslated since NAT skipped them, and of answers to them from another port",

	"memory_chains": "memory of the chains' programs and of the tables that only they use",

	"hits":            "rules that are looked at when every flow sends one packet, by the model of the paper",
	"verdict":         "the time that deciding about a new session takes, beyond the same device without",
	"chain":           "the time of a chain of functions",
	"hop":             "the time that a function of a chain takes by being in it",
	"decision":        "what the program that decides needs for a session",
	"queue":           "sessions that were lost in full queues",
	"arrived":         "the share of the packets that came through",
	"connections":     "connections by name in a second, 32 at a time",
	"first_byte_p50":  "the time from when a connection was due to its first octet that half of all do not exceed",
	"first_byte_p99":  "the time from when a connection was due to its first octet that 99 % do not exceed",
	"throughput":      "downloads, by 1 or 100 connections",
	"cpu_1":           "CPU time of the whole machine for a gigabyte, of one connection",
	"cpu_100":         "CPU time of the whole machine for a gigabyte, of 100 connections",
	"flood":           "forged SYNs that were sent in a second",
	"fetches_flooded": "connections by name in a second beside forged SYNs",
	"late_flooded":    "connections in a second that got no answer within a second beside forged SYNs",
	"replies":         "connections opened at a rate whose answer came, in a second",
	"pages":           "pages fetched in a second, each over a connection of its own",
	"threaded":        "frames or sessions that passed in a second, with the device in kernel threads",
	"p50":             "the time from question to first packet at the host that half of all do not exceed",
	"p99":             "the time from question to first packet at the host that 99 % do not exceed",
}

// axes says in words what a parameter is.
var axes = map[string]string{
	"position":  "place of the rule that matches",
	"pool":      "addresses in the pool",
	"flows":     "flows that the packets are of",
	"load":      "sessions for each bucket of the hash table",
	"percent":   "share of the full load, %",
	"half_open": "reservations that nobody has claimed yet",
	"hits":      "rules that are looked at for a packet, the mean by the model",
	"from":      "shortest time on the CPU, µs",
	"phase":     "third of the experiment",
	"asked":     "rate that was asked for, bit/s",
	"offered":   "new sessions offered, 1/s",
	"by_cpu":    "queue chosen by the CPU: 1, by the addresses: 0",
	"nat":       "nothing translated: 0, sources: 1, destinations: 2",
	"levels":    "levels of chains, one below the other",
	"chains":    "chains of the last level",
	"rules":     "rules",
	"functions": "functions in the chain",
}

func inWords(parameter string) string {
	if words, known := axes[parameter]; known {
		return words
	}
	return parameter
}

// gates says what each condition of a valid trial means. A gate that is not here
// speaks for itself in its failures.
var gates = map[string]string{
	"steal":      "other machines left the CPU to this one",
	"contention": "other programs left the tester its CPU",
	"translated": "every frame that arrived had the addresses and ports that it should have, and one in 64 right checksums; what a metric untranslated tells of is excused",
	"complete":   "no more frames were lost than may be: none, unless the scenario looks for loss",
	"empty":      "the device had no session before the first frame",
	"counted":    "the device itself counts as many sessions as arrived",
	"timeout":    "the trial took less time than an idle session lives",
	"generator":  "the tester sent as fast as it was asked to, and is not itself the limit",
	"validated":  "every session answered afterwards, so the device really had it",
	"deleted":    "no session was left after all were removed",
	"longer":     "deleting the sessions took longer than deleting none",
	"answered":   "hardly any further packet was lost or not answered",
	"found":      "the search found a rate that passes",
	"prepared":   "the sessions could be made before the measurement",
	"tagged":     "enough frames carried the time of their sending",
	"time":       "closed TCP sessions were still there to be counted",
	"pages":      "every page came",
	"fetched":    "every connection was answered in time; beside a flood, one was",
	"right host": "who answered has the name that was asked for",
	"client":     "the client opened connections as fast as it was asked to, and is not itself the limit",
	"standing":   "as many reservations were half-open until the end",
	"lent":       "every question got an address",
	"claimed":    "every first packet came to its host",
	"asked":      "each function was asked as often as its chain was entered",
	"denied":     "no session came through that is denied",

	"decided once":           "the program decided once about every session that came",
	"dropped by queues only": "what did not come is what the queues counted as dropped",
}

func meaning(metric string) string {
	if text, known := metrics[metric]; known {
		return text
	}
	word, _, _ := strings.Cut(metric, "_")
	word, _, _ = strings.Cut(word, "-")
	return metrics[word]
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
