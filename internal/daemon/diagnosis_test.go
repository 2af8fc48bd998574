package daemon

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/diagnose"
)

// Of a machine that has some of the interfaces, check says which it lacks, and what else does not fit; run refuses with
// the place in the file.
func TestCheckWarnsOfWhatRunRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t, text)
	for name, c := range map[string]struct {
		text  string
		wants []string // what warnings begin with, each once
	}{
		"all is well": {text, nil},
		"no such interface inside, and the router in the pool": {
			strings.Replace(strings.Replace(text, "private: [eth1]", "private: [eth1, nosuch]", 1), "[198.18.0.32/28]", "[198.18.0.32/28, 198.18.0.255]", 1),
			[]string{"interfaces.private: interface nosuch is not on this machine", "198.18.0.255 of pool.addresses is the broadcast address"},
		},
		"no such interface to follow": {text + "outbound: {addresses: [nowhere]}\n", []string{"outbound.addresses: interface nowhere is not on this machine"}},
		"one without an address":      {text + "outbound: {addresses: [lo]}\n", []string{"no outbound address: hosts inside reach nobody outside until lo"}},
		"an address of its own":       {strings.Replace(strings.Replace(text, "[198.18.0.32/28]", "[198.18.0.32/28, 10.0.0.1]", 1), "private: 10.0.0.1", "private: 10.0.9.9", 1), []string{"10.0.0.1 of the pool stands on an interface"}},
		"one that the router has": {
			strings.Replace(text, "address: 10.0.0.100", "address: 10.0.0.100\n    one_to_one: 198.18.0.255", 1),
			[]string{"198.18.0.255 of hosts[].one_to_one is the broadcast address"},
		},
	} {
		var warnings []string
		r.must(r.namespace.Do(func() error { warnings = Doubts(t.Context(), document(t, c.text)).All(); return nil }))
		warnings = slices.DeleteFunc(warnings, func(w string) bool { return strings.Contains(w, "XDP program") })
		if len(warnings) != len(c.wants) {
			t.Errorf("%s: %q, want %q", name, warnings, c.wants)
			continue
		}
		for i, want := range c.wants {
			if !strings.HasPrefix(warnings[i], want) {
				t.Errorf("%s: %q, want %q", name, warnings[i], want)
			}
		}
	}
	lacking := document(t, strings.Replace(text, "private: [eth1]", "private: [eth1, nosuch]", 1))
	var err error
	r.must(r.namespace.Do(func() error { err = diagnose.Present(lacking); return nil }))
	if err == nil || !strings.Contains(fmt.Sprintf("%v", err), ":1: interfaces.private: interface nosuch is not on this machine") {
		t.Errorf("%v", err)
	}
}
