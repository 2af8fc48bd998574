package registry

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/model"
)

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct{ given, want []ServiceSpec }{
		"none": {nil, []ServiceSpec{}},
		"apart": {
			[]ServiceSpec{service("tcp/80", "a."), service("udp/80", "b."), service("tcp/81:80", "c.")},
			[]ServiceSpec{service("tcp/80", "a."), service("udp/80", "b."), service("tcp/81:80", "c.")},
		},
		"two virtual hosts": {
			[]ServiceSpec{service("tcp/443 tcp/80", "a."), service("tcp/25", "mail."), service("tcp/80 tcp/443", "b.", "*.b.")},
			[]ServiceSpec{service("tcp/80 tcp/443", "a.", "b.", "*.b."), service("tcp/25", "mail.")},
		},
		"through a third": {
			[]ServiceSpec{service("tcp/80", "a."), service("tcp/22", "b."), service("tcp/22 tcp/80 udp/7-9", "c.")},
			[]ServiceSpec{service("tcp/22 tcp/80 udp/7-9", "a.", "b.", "c.")},
		},
		"one port to two places": {
			[]ServiceSpec{service("tcp/80:8080", "a."), service("tcp/80:8081", "b."), service("tcp/80:8080", "c.")},
			[]ServiceSpec{service("tcp/80:8080", "a.", "c."), service("tcp/80:8081", "b.")},
		},
		"everything": {
			[]ServiceSpec{service("all", "a."), service("tcp/80", "b."), service("tcp/80", "c.")},
			[]ServiceSpec{service("all", "a."), service("tcp/80", "b.", "c.")},
		},
		"ICMP": {
			[]ServiceSpec{service("tcp/22 icmp", "a."), service("icmp tcp/80", "b.")},
			[]ServiceSpec{service("icmp tcp/22 tcp/80", "a.", "b.")},
		},
	} {
		before := fmt.Sprint(c.given)
		got, err := Merge(c.given)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v\nwant %v", name, got, err, c.want)
		}
		if fmt.Sprint(c.given) != before {
			t.Errorf("%s: what was given is changed: %v", name, c.given)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	for want, given := range map[string][]ServiceSpec{
		"services [a. b.] share a port, and tcp port 80 goes to 80 and to 8080":    {service("tcp/80 tcp/443", "a."), service("tcp/443 tcp/80:8080", "b.")},
		"services [a. b. c.] share a port, and tcp port 80 goes to 80 and to 8080": {service("tcp/80 tcp/1", "a."), service("tcp/80:8080 tcp/2", "b."), service("tcp/1 tcp/2", "c.")},
		"has no name":             {service("tcp/80")},
		"has no port":             {{Names: []model.Name{"a."}}},
		"which is none":           {{Names: []model.Name{"a."}, Ports: []model.Port{{Protocol: model.TCP, Port: 80}}}},
		"has everything and more": {{Names: []model.Name{"a."}, Ports: []model.Port{{}, {Protocol: model.ICMP}}}},
	} {
		if got, err := Merge(given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %q", got, err, want)
		}
	}
}

// Whatever is given: nobody's name or port is lost or added, no two services that are left share a way to the same
// port of the host, and what is merged once stays as it is.
func TestMergeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var given []ServiceSpec
		for i := range rapid.IntRange(0, 8).Draw(t, "services") {
			s := ServiceSpec{Names: []model.Name{model.Name(fmt.Sprintf("s%d.", i))}}
			for _, p := range rapid.SliceOfNDistinct(rapid.Uint16Range(1, 12), 1, 3, rapid.ID).Draw(t, "ports") {
				s.Ports = append(s.Ports, model.Port{Protocol: model.TCP, Port: p, To: p + rapid.Uint16Range(0, 1).Draw(t, "shift")})
			}
			given = append(given, s)
		}
		merged, err := Merge(given)
		if err != nil {
			return
		}
		owner := map[model.Name]int{}
		ports := map[model.Port]int{}
		for i, s := range merged {
			for _, name := range s.Names {
				owner[name] = i
			}
			for _, p := range s.Ports {
				if other, taken := ports[p]; taken {
					t.Fatalf("services %d and %d both have %s", other, i, p)
				}
				ports[p] = i
			}
		}
		if len(owner) != len(given) {
			t.Fatalf("%d names of %d", len(owner), len(given))
		}
		wanted := map[model.Port]bool{}
		for _, s := range given {
			for _, p := range s.Ports {
				if wanted[p] = true; ports[p] != owner[s.Names[0]] {
					t.Fatalf("%s of %s went elsewhere", p, s.Names[0])
				}
			}
		}
		if len(wanted) != len(ports) {
			t.Fatalf("%d ports became %d", len(wanted), len(ports))
		}
		again, err := Merge(merged)
		if err != nil || !slices.EqualFunc(again, merged, func(a, b ServiceSpec) bool { return reflect.DeepEqual(a, b) }) {
			t.Fatalf("%v became %v, %v", merged, again, err)
		}
	})
}
