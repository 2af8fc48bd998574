package hello

import (
	"bufio"
	"bytes"
	"net/http"
	"slices"
	"testing"
)

func benchmark(b *testing.B, read func() (string, error)) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		if name, err := read(); name == "" || err != nil {
			b.Fatal(name, err)
		}
	}
}

// The library's columns are what the package's comment speaks of.
func BenchmarkTLS(b *testing.B) {
	whole, five := hello(b, clientOf(site, nil)), []byte(nil)
	five = cut(whole, len(whole)/5)
	for _, c := range []struct {
		name   string
		stream []byte
	}{{"classic", hello(b, clientOf(site, classic))}, {"post-quantum", whole}, {"5-records", five}, {"1-octet", cut(whole, 1)}} {
		b.Run(c.name, func(b *testing.B) { benchmark(b, func() (string, error) { return TLS(c.stream) }) })
		if c.name != "1-octet" { // crypto/tls refuses so many records
			b.Run(c.name+"/crypto-tls", func(b *testing.B) {
				benchmark(b, func() (string, error) { name, _ := standardTLS(c.stream); return name, nil })
			})
		}
	}
}

func BenchmarkHTTP(b *testing.B) {
	request := []byte("GET /index.html HTTP/1.1\r\nAccept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nAccept-Language: en\r\nHost: www.site.example\r\nConnection: keep-alive\r\n\r\n")
	b.Run("1.1", func(b *testing.B) { benchmark(b, func() (string, error) { return HTTP(request) }) })
	b.Run("1.1/net-http", func(b *testing.B) {
		benchmark(b, func() (string, error) {
			r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(request)))
			return r.Host, err
		})
	})
	prior := fixture(b, "curl.h2c")
	b.Run("2", func(b *testing.B) { benchmark(b, func() (string, error) { return HTTP(prior) }) })
}

func BenchmarkInitials(b *testing.B) {
	for name, datagrams := range map[string][][]byte{
		"1-datagram": {fixture(b, "rfc9001-0.quic")}, "chromium": {fixture(b, "chromium-0.quic"), fixture(b, "chromium-1.quic")},
	} {
		b.Run(name, func(b *testing.B) {
			benchmark(b, func() (name string, err error) {
				q := NewInitials()
				for _, d := range datagrams {
					name, err = q.Add(d)
				}
				return name, err
			})
		})
	}
}

// A hello of two segments, in order and the other way round, and its name.
func BenchmarkStream(b *testing.B) {
	record := hello(b, clientOf(site, nil))
	for name, order := range map[string][][2]int{"in-order": {{0, 1400}, {1400, len(record)}}, "reversed": {{1400, len(record)}, {0, 1400}}} {
		order = slices.Clone(order)
		b.Run(name, func(b *testing.B) {
			benchmark(b, func() (name string, err error) {
				s := NewStream(1)
				for _, part := range order {
					if err := s.Add(1+uint32(part[0]), record[part[0]:part[1]]); err != nil {
						return "", err
					}
					name, err = TLS(s.Bytes())
				}
				return name, err
			})
		})
	}
}
