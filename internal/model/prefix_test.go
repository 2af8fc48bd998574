package model

import "testing"

func TestParsePrefix46(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.7": "192.0.2.7/32", "192.0.2.0/24": "192.0.2.0/24", "2001:db8::1": "2001:db8::1/128", "2001:DB8::/32": "2001:db8::/32", "::/0": "::/0",
		"192.0.2.7/24": "", "2001:db8::1/32": "", "2001:db8::/129": "", "fe80::1%eth0": "", "fe80::%eth0/10": "", "::ffff:192.0.2.7": "", "::ffff:192.0.2.0/120": "",
		"": "", "x": "", "/": "",
	} {
		p, err := ParsePrefix46(text)
		if (err == nil) != (want != "") || err == nil && p.String() != want || err != nil && p.IsValid() {
			t.Errorf("%q: %s, %v; want %q", text, p, err, want)
		}
	}
}

func TestParsePrefix(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.7": "192.0.2.7/32", "192.0.2.0/24": "192.0.2.0/24", "0.0.0.0/0": "0.0.0.0/0",
		"192.0.2.7/24": "", "2001:db8::1": "", "2001:db8::/32": "", "192.0.2.0/33": "", "": "", "x": "",
	} {
		p, err := ParsePrefix(text)
		if (err == nil) != (want != "") || err == nil && p.String() != want {
			t.Errorf("%q: %s, %v; want %q", text, p, err, want)
		}
	}
}
