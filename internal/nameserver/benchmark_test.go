package nameserver

import (
	"context"
	"net"
	"testing"

	"github.com/miekg/dns"
)

// openAllocator lends without keeping a record of it.
type openAllocator struct{}

func (openAllocator) Allocate(context.Context, Question) (Answer, error) {
	return Answer{Address: lent}, nil
}

func BenchmarkRespond(b *testing.B) {
	for _, bench := range []struct {
		about     string
		verify    Verify
		name      string
		qtype     uint16
		transport Transport
	}{
		{"truncated", VerifyTCP, "www.hosta.foo.example.", dns.TypeA, UDP},
		{"address", VerifyNone, "www.hosta.foo.example.", dns.TypeA, UDP},
		{"address-tcp", VerifyTCP, "www.hosta.foo.example.", dns.TypeA, TCP},
		{"refused", VerifyTCP, "www.example.net.", dns.TypeA, UDP},
		{"nxdomain-udp", VerifyTCP, "nobody.foo.example.", dns.TypeA, UDP},
		{"nxdomain-tcp", VerifyTCP, "nobody.foo.example.", dns.TypeA, TCP},
	} {
		b.Run(bench.about, func(b *testing.B) {
			options := publicOptions(openAllocator{})
			options.Verify = bench.verify
			directory := realm()
			options.Directory = func() Directory { return directory }
			server, err := NewPublic(options)
			if err != nil {
				b.Fatal(err)
			}
			message := packed(b, request(bench.name, bench.qtype).SetEdns0(1232, false))
			buf := make([]byte, 0, bufferSize)
			b.ReportAllocs()
			for b.Loop() {
				_, later := server.respond(b.Context(), message, asker, bench.transport, buf)
				if later != nil {
					later(b.Context(), buf, nil)
				}
			}
		})
	}
}

// BenchmarkUDP goes through the kernel: client and server share the CPUs, and
// each client has one query under way.
func BenchmarkUDP(b *testing.B) {
	for _, bench := range []struct {
		about  string
		verify Verify
	}{{"truncated", VerifyTCP}, {"address", VerifyNone}} {
		b.Run(bench.about, func(b *testing.B) {
			options := publicOptions(openAllocator{})
			options.Verify = bench.verify
			server, err := NewPublic(options)
			if err != nil {
				b.Fatal(err)
			}
			address := start(b, server)
			message := packed(b, request("www.hosta.foo.example.", dns.TypeA))
			b.SetParallelism(8)
			b.RunParallel(func(loop *testing.PB) {
				conn, err := net.Dial("udp", address)
				if err != nil {
					b.Error(err)
					return
				}
				defer func() { _ = conn.Close() }()
				in := make([]byte, bufferSize)
				for loop.Next() {
					if _, err := conn.Write(message); err != nil {
						b.Error(err)
						return
					}
					if _, err := conn.Read(in); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "queries/s")
		})
	}
}
