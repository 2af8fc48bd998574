package cli

import (
	"context"
	"regexp"
	"strings"
	"testing"
)

// rules makes the box translate as home routers do, with a rule for what leaves by a device.
func (b box) rules(t *testing.T, device, rule string) {
	t.Helper()
	b.masquerade(t)
	command := b.gateway.Command(context.Background(), "nft", "-f", "-")
	command.Stdin = strings.NewReader("table netdev broken { chain in { type filter hook egress device " + device + " priority 0; " + rule + "; }; }\n")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("nft: %v: %s", err, out)
	}
}

// A box that loses one frame in a hundred gets that as its verdict.
func TestBenchExternalThatLoses(t *testing.T) {
	b := newBox(t)
	b.rules(t, "wan", "ip protocol udp numgen inc mod 97 0 drop")
	m := b.measures(t, "nat44-throughput", "--external", "in0,out0", "--sessions", "1000", "--repeat", "1", "--direction", "forward", "--search", "strict")
	m.start(t)
	code := m.wait(t)
	want := regexp.MustCompile(`no trial was valid; the first: external, found: no rate from 1000/s on passed: 1[.\d]* % are lost at 1000/s`)
	if complaint := m.stderr.String(); code != exitError || !want.MatchString(complaint) {
		t.Errorf("exit %d: %s", code, complaint)
	}
	if !strings.Contains(m.stdout.String(), "external loses sessions at any rate") {
		t.Errorf("the report does not say so: %s", &m.stdout)
	}
}

// A router is no NAT44, and answers that go astray are the box's fault, not the tester's.
func TestBenchExternalThatTranslatesWrongly(t *testing.T) {
	t.Run("not at all", func(t *testing.T) {
		newBox(t).measures(t, "nat44-throughput", "--external", "in0,out0", "--sessions", "1000").mustFail(t,
			"the box translates nothing: 10.0.0.2 arrives as it is, and this measures NAT44")
	})
	t.Run("to a wrong port", func(t *testing.T) {
		b := newBox(t)
		b.rules(t, "wan", "ip protocol udp udp dport set 7")
		b.measures(t, "nat44-throughput", "--external", "in0,out0", "--sessions", "1000").mustFail(t,
			"none of 1000 frames from 10.0.0.2 to 198.19.0.2 came through the box: does it forward, and is in0 its private side? 1000 came to a wrong address or port")
	})
	t.Run("answers to a wrong port", func(t *testing.T) {
		b := newBox(t)
		b.rules(t, "lan", "ip protocol udp udp dport set 7")
		m := b.measures(t, "nat44-throughput", "--external", "in0,out0", "--sessions", "1000", "--repeat", "1", "--direction", "reverse", "--search", "strict")
		m.start(t)
		if code := m.wait(t); code != exitError || !strings.Contains(m.stderr.String(), "no trial was valid; the first: external, translated: ") {
			t.Errorf("exit %d: %s", code, &m.stderr)
		}
	})
	t.Run("twice", func(t *testing.T) {
		b := newBox(t)
		b.rules(t, "wan", "ip protocol udp dup to wan")
		m := b.measures(t, "nat44-latency", "--rate", "5000", "--external", "in0,out0", "--sessions", "1000", "--repeat", "1")
		m.start(t)
		if code := m.wait(t); code != exitError || !strings.Contains(m.stderr.String(), "no trial was valid; the first: external, translated: ") {
			t.Errorf("exit %d: %s", code, &m.stderr)
		}
	})
}
