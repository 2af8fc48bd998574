package hello

import (
	"bytes"
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"testing"
)

// The files of testdata are what OpenSSL 3.0, curl 7.88, Chromium 156 and Firefox 153
// sent to an address of the test's.
func TestTLSOfClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		hello []byte
		least int // octets, to be sure that it is what it is called
	}{
		{"Go", hello(t, clientOf(site, nil)), 1400},
		{"Go, no post-quantum share", hello(t, clientOf(site, classic)), 200},
		{"Go, TLS 1.2", hello(t, &tls.Config{ServerName: site, MaxVersion: tls.VersionTLS12}), 100},
		{"OpenSSL, www.Site.example", fixture(t, "openssl.tls"), 300},
		{"curl", fixture(t, "curl.tls"), 517},
		{"Chromium", fixture(t, "chromium.tls"), 1900},
		{"Firefox", fixture(t, "firefox.tls"), 1800},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if len(c.hello) < c.least {
				t.Errorf("%d octets, want %d at least", len(c.hello), c.least)
			}
			if kind, ok := Sniff(c.hello); kind != KindTLS || !ok {
				t.Errorf("Sniff: %v, %v", kind, ok)
			}
			streams := map[string][]byte{
				"as it came": c.hello, "5 records": cut(c.hello, len(c.hello)/5), "records of 1 octet": cut(c.hello, 1),
				"early data": append(slices.Clone(c.hello), 20, 3, 3, 0, 1, 1),
			}
			for how, stream := range streams {
				if name, err := TLS(stream); name != site || err != nil {
					t.Errorf("%s: %q, %v", how, name, err)
				}
			}
			for end := range c.hello {
				if name, err := TLS(c.hello[:end]); !errors.Is(err, ErrShort) {
					t.Fatalf("the first %d octets: %q, %v", end, name, err)
				}
			}
			five := streams["5 records"]
			for end := range len(five) - 1 {
				if name, err := TLS(five[:end]); !errors.Is(err, ErrShort) {
					t.Fatalf("the first %d octets of 5 records: %q, %v", end, name, err)
				}
			}
		})
	}
}

// What is greased, unknown or stands elsewhere changes nothing; the outer name of
// Encrypted Client Hello is read.
func TestTLSExtensions(t *testing.T) {
	t.Parallel()
	host, grease := sni(entry(nameHost, site)), extension(0x0a0a, 0)
	list := [][]byte{grease, host, extension(0xfe0d, bytes.Repeat([]byte{9}, 200)...), extension(0xfafa), extension(41, 1, 2)}
	for range list {
		list = append(list[1:], list[0])
		if name, err := TLS(inRecord(body(list...))); name != site || err != nil {
			t.Errorf("%q, %v", name, err)
		}
	}
}

func TestTLSRefuses(t *testing.T) {
	t.Parallel()
	good := inRecord(body(sni(entry(nameHost, site))))
	with := func(at int, octet byte) []byte {
		changed := slices.Clone(good)
		changed[at] = octet
		return changed
	}
	long := inRecord(body(extension(21, make([]byte, 12<<10)...)))
	for _, c := range []struct {
		name   string
		stream []byte
		want   error
	}{
		{"nothing", nil, ErrShort},
		{"no extensions", inRecord(body()), ErrNoName},
		{"no server_name", inRecord(body(extension(10, 0, 2, 0, 29))), ErrNoName},
		{"an address", inRecord(body(sni(entry(nameHost, "192.0.2.1")))), ErrNoName},
		{"an IPv6 address", inRecord(body(sni(entry(nameHost, "2001:db8::1")))), ErrNoName},
		{"an unknown type of name", inRecord(body(sni(entry(7, site)))), ErrNoName},
		{"HTTP", []byte("G"), ErrMalformed},
		{"SSL 2.0", []byte{0x80, 0x2e, 1, 3, 1}, ErrMalformed},
		{"an alert", []byte{21, 3, 1, 0, 2, 1, 0}, ErrMalformed},
		{"a record of another version", with(1, 2), ErrMalformed},
		{"a ServerHello", with(5, 2), ErrMalformed},
		{"an empty record", []byte{22, 3, 1, 0, 0}, ErrMalformed},
		{"a record that is too long", []byte{22, 3, 1, 0x40, 1}, ErrMalformed},
		{"an alert amid the hello", slices.Concat(cut(good, 20)[:25], []byte{21, 3, 1, 0, 2}), ErrMalformed},
		{"a session ID of 33", inRecord(bodyOf(make([]byte, 33), []byte{0x13, 1}, sni(entry(nameHost, site)))), ErrMalformed},
		{"an odd number of octets of ciphers", inRecord(bodyOf(nil, []byte{0x13, 1, 0}, sni(entry(nameHost, site)))), ErrMalformed},
		{"no ciphers", inRecord(bodyOf(nil, nil, sni(entry(nameHost, site)))), ErrMalformed},
		{"no compression", with(5+4+39, 0), ErrMalformed},
		{"extensions beyond the hello", with(5+4+41+1, 255), ErrMalformed},
		{"extensions that end before the hello", with(5+4+41+1, 0), ErrMalformed},
		{"an extension beyond the others", inRecord(body(extension(5)[:3])), ErrMalformed},
		{"server_name twice", inRecord(body(sni(entry(nameHost, site)), sni(entry(nameHost, site)))), ErrMalformed},
		{"two names", inRecord(body(sni(entry(nameHost, site), entry(nameHost, "b.example")))), ErrMalformed},
		{"an empty name", inRecord(body(sni(entry(nameHost, "")))), ErrMalformed},
		{"an empty list", inRecord(body(sni())), ErrMalformed},
		{"an empty server_name", inRecord(body(extension(extensionServerName))), ErrMalformed},
		{"a list that ends before server_name", inRecord(body(extension(extensionServerName, 0, 4, 0, 0, 1, 'a', 0))), ErrMalformed},
		{"a hello of more than 16 KB", []byte{22, 3, 1, 0x40, 0, 1, 0, 0x40, 1}, ErrTooLong},
		{"records that take more than 16 KB", cut(long, 2)[:MaxBytes], ErrTooLong},
	} {
		name, err := TLS(c.stream)
		if !errors.Is(err, c.want) || name != "" {
			t.Errorf("%s: %q, %v; want %v", c.name, name, err, c.want)
		}
	}
	if name, err := TLS(good); name != site || err != nil {
		t.Errorf("unchanged: %q, %v", name, err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	label := strings.Repeat("a", 63)
	longest := strings.Join([]string{label, label, label, label[:61]}, ".")
	for given, want := range map[string]any{
		"WWW.Site.EXAMPLE.": site, "_a-b.x9": "_a-b.x9", "localhost": "localhost", "1.2.3.4.example": "1.2.3.4.example", "xn--bcher-kva.example": "xn--bcher-kva.example",
		longest: longest, longest + ".": longest, "a" + longest: ErrMalformed, label + "a.b": ErrMalformed,
		"127.1": ErrNoName, "1": ErrNoName, "192.0.2.1.": ErrNoName, "::1": ErrNoName, "fe80::1%eth0": ErrNoName,
		"": ErrMalformed, ".": ErrMalformed, "a..b": ErrMalformed, ".a": ErrMalformed, "a..": ErrMalformed, "-a.b": ErrMalformed, "a.b-": ErrMalformed,
		"a b": ErrMalformed, "a\x00b": ErrMalformed, "bücher.example": ErrMalformed, "\u212aelvin.example": ErrMalformed, "a:1": ErrMalformed, "*.a": ErrMalformed, "a@b": ErrMalformed,
	} {
		name, err := canonical([]byte(given))
		wellFormed(t, name, err)
		if refused, ok := want.(error); ok && !errors.Is(err, refused) || !ok && (name != want || err != nil) {
			t.Errorf("%q: %q, %v; want %v", given, name, err, want)
		}
	}
}

// Who waits for the name is told one of the errors, and no two are the same.
func TestErrorsAreApart(t *testing.T) {
	t.Parallel()
	for i, err := range sentinels {
		for j, other := range sentinels {
			if errors.Is(err, other) != (i == j) {
				t.Errorf("%v is %v", err, other)
			}
		}
	}
	if errors.Is(malformed("x"), ErrShort) || !errors.Is(malformed("x"), ErrMalformed) {
		t.Error("what is malformed is not told apart")
	}
}
