package policy

import (
	"slices"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
	"pgregory.net/rapid"
)

// What is written into a message is read the same, also where ports follow one another.
func TestServicesAreWrittenEach(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var ports []model.Port
		for range rapid.IntRange(0, 8).Draw(t, "ports") {
			protocol := rapid.SampledFrom([]model.Protocol{model.TCP, model.UDP, model.ICMP}).Draw(t, "protocol")
			port := model.Port{Protocol: protocol}
			if protocol != model.ICMP {
				port.Port, port.To = uint16(rapid.IntRange(1, 6).Draw(t, "port")), uint16(rapid.IntRange(1, 6).Draw(t, "to"))
			}
			ports = append(ports, port)
		}
		services := ServicesOf(ports)
		if services.None() { // is never said: it is a conflict
			services = Services{All: true}
		}
		read, known := ParseServices(services.Texts())
		if !known || read.All != services.All || !slices.Equal(read.List, services.List) {
			t.Fatalf("%v is written %q and read as %v, %v", services, services.Texts(), read, known)
		}
		for _, p := range ports {
			if !services.Has(p.Protocol, p.Port) || services.Has(p.Protocol, p.Port+100) && !services.All {
				t.Fatalf("%v has not %v", services, p)
			}
		}
	})
	for _, text := range []string{"tcp/80-81", "tcp/80:8080", "sctp/5", "tcp/0", "tcp", "", " icmp", "TCP/80"} {
		if read, known := ParseServices([]string{"icmp", text}); known {
			t.Errorf("%q is read as %v", text, read)
		}
	}
	if read, known := ParseServices([]string{"tcp/80", "all"}); !known || !read.All {
		t.Errorf("all: got %v, %v", read, known)
	}
}
