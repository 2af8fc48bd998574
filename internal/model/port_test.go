package model

import (
	"slices"
	"testing"
)

func TestParsePorts(t *testing.T) {
	for text, want := range map[string][]Port{
		"all":         {{}},
		"icmp":        {{Protocol: ICMP}},
		"tcp/80":      {{TCP, 80, 80}},
		"tcp/80:8080": {{TCP, 80, 8080}},
		"udp/443":     {{UDP, 443, 443}},
		"tcp/65535":   {{TCP, 65535, 65535}},
		"udp/7-7":     {{UDP, 7, 7}},
		"tcp/65533-65535": {
			{TCP, 65533, 65533}, {TCP, 65534, 65534}, {TCP, 65535, 65535},
		},
	} {
		got, err := ParsePorts(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
		for _, p := range got {
			if !p.Valid() {
				t.Errorf("%q has %+v, which is not valid", text, p)
			}
		}
	}
	for _, text := range []string{
		"", "80", "tcp", "tcp/", "tcp/0", "tcp/65536", "tcp/-1", "tcp/+80", "tcp/80:", "tcp/80:0", "tcp/:80", "tcp/80:+1",
		"tcp/80-", "tcp/90-80", "tcp/80-90:8080", "tcp/80:90-100", "icmp/8", "all/80", "any", "sctp/80", "TCP/80", " tcp/80",
	} {
		if got, err := ParsePorts(text); err == nil {
			t.Errorf("%q is taken as %v", text, got)
		}
	}
	if _, err := ParsePort("tcp/80-81"); err == nil {
		t.Error("a range is taken for one port")
	}
}

func TestPortText(t *testing.T) {
	for _, p := range []Port{{}, {Protocol: ICMP}, {TCP, 80, 80}, {UDP, 80, 8080}} {
		text, _ := p.MarshalText()
		var back Port
		if err := back.UnmarshalText(text); err != nil || back != p {
			t.Errorf("%+v is written %q and read %+v, %v", p, text, back, err)
		}
	}
	for _, p := range []Port{{0, 80, 80}, {ICMP, 8, 0}, {TCP, 0, 80}, {TCP, 80, 0}, {47, 0, 0}} {
		if p.Valid() {
			t.Errorf("%+v is valid", p)
		}
	}
}

func TestPortOverlaps(t *testing.T) {
	all, icmp := Port{}, Port{Protocol: ICMP}
	web, other, udp := Port{TCP, 80, 80}, Port{TCP, 80, 8080}, Port{UDP, 80, 80}
	for _, c := range []struct {
		a, b Port
		want bool
	}{{all, all, true}, {all, icmp, true}, {web, all, true}, {web, other, true}, {web, udp, false}, {icmp, web, false}} {
		if c.a.Overlaps(c.b) != c.want || c.b.Overlaps(c.a) != c.want {
			t.Errorf("%s and %s: overlap is not %v", c.a, c.b, c.want)
		}
	}
}
