package model

import "testing"

func TestParseNetwork(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.7": "192.0.2.7/32", "192.0.2.0/24": "192.0.2.0/24", "2001:db8::1": "2001:db8::1/128", "2001:DB8::/32": "2001:db8::/32", "::/0": "::/0",
		"192.0.2.7/24": "", "2001:db8::1/32": "", "2001:db8::/129": "", "fe80::1%eth0": "", "fe80::%eth0/10": "", "::ffff:192.0.2.7": "", "::ffff:192.0.2.0/120": "",
		"": "", "x": "", "/": "",
	} {
		p, err := ParseNetwork(text)
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

func FuzzParseNetwork(f *testing.F) {
	for _, text := range []string{"192.0.2.7", "192.0.2.0/24", "2001:db8::/32", "::ffff:192.0.2.7", "fe80::1%eth0", "/"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseNetwork(text)
		if err != nil {
			return
		}
		if again, err := ParseNetwork(p.String()); err != nil || again != p || p != p.Masked() || p.Addr().Is4In6() {
			t.Fatalf("%q became %s, and that %s, %v", text, p, again, err)
		}
	})
}
