package daemon

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/explain"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// asks sends a question to the name server from outside, and returns what became of it.
func (b *rig) asks(name string, qtype uint16) model.Reason {
	b.t.Helper()
	message, err := new(dns.Msg).SetQuestion(name, qtype).Pack()
	b.must(err)
	return b.send(true, packets.NewUDP(remote, netip.MustParseAddrPort("198.18.0.1:53"), string(message)))
}

// The data plane answers for the names that are lent, by the configuration in force, and for none
// where UDP lends.
func TestDataPlaneAnswersForLentNames(t *testing.T) {
	t.Parallel()
	r := newRig(t, text)
	r.routed()
	const www, static, later = "www.hosta.foo.example.", "foo.example.", "ftp.hosta.foo.example."
	expect := func(about, name string, qtype uint16, want model.Reason) {
		t.Helper()
		if got := r.asks(name, qtype); got != want {
			t.Errorf("%s: %s of type %d: %s, want %s", about, name, qtype, got, want)
		}
	}
	expect("no heartbeat", www, dns.TypeA, "to_gateway")
	r.must(r.names.Beat())
	expect("started", www, dns.TypeA, "answered_question")
	expect("started", www, dns.TypeAAAA, "answered_question")
	expect("started", www, dns.TypeSRV, "to_gateway")
	expect("started", "hosta.foo.example.", dns.TypeA, "to_gateway")
	expect("started", static, dns.TypeSOA, "to_gateway")
	expect("started", later, dns.TypeA, "to_gateway")
	status, err := r.Status()
	r.must(err)
	if told := r.counted("answered_question"); told == 0 || status.DNS.Queries != told || status.DNS.Truncated != told {
		t.Errorf("%d were told, and status has %+v", told, status.DNS)
	}
	r.must(r.reloadWith(strings.Replace(text, "www.hosta", "ftp.hosta", 1)))
	expect("reloaded", www, dns.TypeA, "to_gateway")
	expect("reloaded", later, dns.TypeA, "answered_question")
	r.must(r.reloadWith(strings.Replace(text, "dns: {", "dns: {verify: none, ", 1)))
	expect("lent by UDP", www, dns.TypeA, "to_gateway")
	r.must(r.reloadWith(text))
	expect("by TCP again", www, dns.TypeA, "answered_question")
	r.restart(true, "")
	expect("after a restart", www, dns.TypeA, "answered_question")
}

// A flow of questions is explained, and ends as it does with a plain question for another name.
func TestExplainTellsOfQuestions(t *testing.T) {
	t.Parallel()
	r := newRig(t, text)
	r.routed()
	r.must(r.names.Beat())
	f := explain.Flow{Direction: model.In, Protocol: model.UDP, Source: remote.Addr(), Destination: netip.MustParseAddr("198.18.0.1"), Port: 53}
	r.agrees(f, "ban continue, address gateway, question continue, pass to_gateway")
	f.Protocol = model.TCP
	r.agrees(f, "ban continue, address gateway, pass to_gateway")
}

func (b *rig) counted(reason model.Reason) uint64 {
	b.t.Helper()
	counters, err := b.data.Counters()
	b.must(err)
	return counters[reason]
}
