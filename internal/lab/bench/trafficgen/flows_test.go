package trafficgen

import (
	"math/bits"
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

// permute is flow_permute of bpf/trafficgen/flow.h.
func permute(p *bpfTrafficgenPlan, number uint32) uint32 {
	for range 64 {
		number = number * 0x9e3779b1 & p.Mask
		number ^= number >> (p.Shift & 31)
		number = number * 0x85ebca6b & p.Mask
		number ^= number >> (p.Shift & 31)
		if number < p.Flows {
			break
		}
	}
	return number
}

// once is flow_once of bpf/trafficgen/flow.h.
func once(p *bpfTrafficgenPlan, number uint32) uint32 {
	const lineFlows = 8
	lines := p.Flows / lineFlows
	if number >= lines*lineFlows {
		return number
	}
	return number%lines*lineFlows + number/lines
}

func someFlows(sources, ports, destinationPorts int) Flows {
	return Flows{
		Sources:          Addresses{netip.MustParseAddr("10.0.0.2"), sources},
		SourcePorts:      SourcePorts.Some(ports),
		Destinations:     Addresses{netip.MustParseAddr("198.19.0.2"), 1},
		DestinationPorts: DestinationPorts.Some(destinationPorts),
	}
}

// Each number below the number of flows comes once, whatever that is: as the
// flow of the first pass, and as the place of its tuple.
func TestPermutationVisitsEveryFlowOnce(t *testing.T) {
	t.Parallel()
	check := func(t interface {
		Fatalf(format string, args ...any)
	}, flows Flows) {
		var p bpfTrafficgenPlan
		flows.plan(&p)
		n := uint32(flows.Count())
		if p.Flows != n || bits.Len32(p.Mask) > bits.Len32(n) {
			t.Fatalf("%d flows: %+v", n, p)
		}
		seen := make([]bool, n)
		for i := range n {
			flow := permute(&p, once(&p, i))
			if flow >= n || seen[flow] {
				t.Fatalf("%d flows: number %d gives %d, which is beyond them or a second time", n, i, flow)
			}
			seen[flow] = true
		}
	}
	for n := 1; n <= 3000; n++ {
		check(t, someFlows(1, n, 1))
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, someFlows(rapid.IntRange(1, 16).Draw(t, "sources"), rapid.IntRange(1, 5000).Draw(t, "ports"),
			rapid.IntRange(1, 5).Draw(t, "destination ports")))
	})
}

// Ports of a range are different and inside it.
func TestPortsStayInTheirRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ports := DestinationPorts
		if rapid.Bool().Draw(t, "source") {
			ports = SourcePorts
		}
		ports.Count = rapid.IntRange(1, int(ports.Last)-int(ports.First)+1).Draw(t, "count")
		r := ports.plan()
		if last := r.First + (r.Count-1)*r.Step; r.Step < 1 || r.First != uint32(ports.First) || last > uint32(ports.Last) {
			t.Fatalf("%+v: %+v", ports, r)
		}
	})
}

// What Quantile returns is at most 1/32 below what was counted.
func TestLatencyBuckets(t *testing.T) {
	t.Parallel()
	for bucket := 1; bucket < int(bpfTrafficgenLimitLATENCY_BUCKETS); bucket++ {
		below, at := BucketStart(bucket-1), BucketStart(bucket)
		if at <= below || at > 33 && float64(at-below) > float64(at)/32+1 {
			t.Fatalf("bucket %d starts at %d, the one before at %d", bucket, at, below)
		}
	}
	l := Latency{Buckets: make([]uint64, 100)}
	l.Buckets[10], l.Buckets[20], l.Buckets[40] = 1, 98, 1
	if l.Quantile(0) != 10 || l.Quantile(0.5) != 20 || l.Quantile(0.999) != BucketStart(40) || l.Count() != 100 {
		t.Errorf("%d %d %d of %d", l.Quantile(0), l.Quantile(0.5), l.Quantile(0.999), l.Count())
	}
}
