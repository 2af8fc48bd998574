package api

import (
	"encoding/json"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// AppendLine writes what encoding/json does, whatever the fields are.
func TestFlowLine(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		text := func(some ...string) string { return some[r.IntN(len(some))] }
		end := func() netip.AddrPort {
			some := []string{"10.0.0.1:5000", "203.0.113.7:443", "255.255.255.255:65535", "[2001:db8::1]:53", "[fe80::1%e\"0]:9", ""}
			e, _ := netip.ParseAddrPort(text(some...))
			return e
		}
		names := []string{"", "", "hosta.example.", "www.foo.example.", `a"b`, "a\\b", "<&>", "\x01", "ä.example.", "\xff"}
		f := Flow{
			Time: time.Unix(r.Int64N(1<<32), r.Int64N(1e9)).UTC(), Event: text("open", "new", "drop"), Verdict: text("forwarded", "dropped"),
			Reason: model.Reason(text("", "drop_denied")), Protocol: []model.Protocol{model.TCP, model.UDP, model.ICMP, 47}[r.IntN(4)], From: end(), FromName: text(names...), To: end(),
			ToName: text(names...), Via: end(), State: text("", "syn", "established"), Origin: text("", "inside"), Host: text(names...), Name: text(names...),
			Country: text("", "DE"), Lost: r.Uint64N(3),
		}
		switch r.IntN(8) {
		case 0:
			f.Time = f.Time.In(time.FixedZone("", 3600))
		case 1:
			f.Time = time.Unix(f.Time.Unix(), 0).UTC()
		case 2:
			f = Flow{}
		}
		want, err := json.Marshal(&f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.AppendLine([]byte("x"))
		if err != nil || string(got) != "x"+string(want) {
			t.Fatalf("seed %d: %v\n got %s\nwant x%s", seed, err, got, want)
		}
	}
	if _, err := (&Flow{Time: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}).AppendLine(nil); err == nil {
		t.Error("a year of five digits is written")
	}
}

// BenchmarkFlowLine writes the line of a flow.
func BenchmarkFlowLine(b *testing.B) {
	f := Flow{
		Time: time.Unix(1e9, 123456789).UTC(), Event: "new", Verdict: "forwarded", Protocol: model.TCP, From: netip.MustParseAddrPort("10.0.0.1:5000"),
		FromName: "host17.foo.example.", To: netip.MustParseAddrPort("203.0.113.7:443"), Via: netip.MustParseAddrPort("192.0.2.1:5000"), State: "syn",
		Origin: "inside", Host: "host17.foo.example.", Country: "DE",
	}
	b.Run("append", func(b *testing.B) {
		line := []byte{}
		for b.Loop() {
			line, _ = f.AppendLine(line[:0])
		}
	})
	b.Run("json", func(b *testing.B) {
		for b.Loop() {
			_, _ = json.Marshal(&f)
		}
	})
}
