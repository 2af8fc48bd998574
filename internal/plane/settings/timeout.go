package settings

import (
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// timeouts are the keys of the section, each 1s to 2592000s.
var timeouts = []struct {
	key       string
	of        model.Timeout
	otherwise time.Duration
}{
	{"tcp_established", model.TimeoutTCPEstablished, 7440 * time.Second}, // RFC 5382 REQ-5: at least 2 h 4 min
	{"tcp_transitory", model.TimeoutTCPTransitory, 240 * time.Second},    // RFC 5382 REQ-5: at least 4 min
	{"tcp_closing", model.TimeoutTCPClosing, 240 * time.Second},          // RFC 7857 section 2.1: apart, and as long
	{"udp", model.TimeoutUDP, 300 * time.Second},                         // RFC 4787 REQ-5: recommended
	{"udp_unanswered", model.TimeoutUDPUnanswered, 30 * time.Second},
	{"dns", model.TimeoutDNS, 6 * time.Second},         // RFC 4787 REQ-5a: longer than stub resolvers wait for an answer (5 s)
	{"icmp", model.TimeoutICMP, 60 * time.Second},      // RFC 5508 REQ-2: at least 60 s
	{"others", model.TimeoutOthers, 600 * time.Second}, // as netfilter's generic timeout
}

func defaultTimeouts() (t model.Timeouts) {
	for _, row := range timeouts {
		t[row.of] = row.otherwise
	}
	return t
}

func timeoutKeys(t *model.Timeouts) schema.Key {
	keys := make([]schema.Key, len(timeouts))
	for i, row := range timeouts {
		keys[i] = schema.One(row.key, &t[row.of], schema.Duration(time.Second, 30*24*time.Hour))
	}
	return schema.Section("timeouts", keys...)
}
