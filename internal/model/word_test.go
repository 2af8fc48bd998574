package model

import "testing"

func TestProtocolsReadBackWhatTheyWrite(t *testing.T) {
	for _, p := range []Protocol{AnyProtocol, ICMP, TCP, UDP, ESP, SixIn4, IPIP, DCCP, GRE, SCTP, UDPLite, 51, 255} {
		text, err := p.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back Protocol
		if err := back.UnmarshalText(text); err != nil || back != p {
			t.Errorf("%s became %s (%v)", p, back, err)
		}
	}
	for _, text := range []string{"47", "gre", "GRE"} {
		if p, err := ParseProtocol(text); err != nil || p != GRE {
			t.Errorf("%s was read as %s (%v)", text, p, err)
		}
	}
	for _, text := range []string{"ah", "51", "0", "047", ""} {
		if p, err := ParseProtocol(text); err == nil {
			t.Errorf("%q was read as %s", text, p)
		}
	}
	for _, text := range []string{"protocol-256", "protocol-", "protocol--1", "ah"} {
		var p Protocol
		if err := p.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%s was read as %d", text, p)
		}
	}
	if got := Protocol(51).String(); got != "protocol-51" {
		t.Errorf("an unknown protocol is called %q", got)
	}
}

func TestReasonsThatDrop(t *testing.T) {
	if Reason("forwarded").IsDrop() || !Reason("drop_vlan").IsDrop() {
		t.Error("drops are the reasons that begin with drop_")
	}
}
