package demo

import (
	"context"
	"fmt"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// settings are what a gateway changes on its interfaces, by their path below
// /proc/sys.
type settings map[string]string

func readSettings(g *netns.Gateway) (settings, error) {
	found := settings{}
	for _, ifname := range append(g.Public[:1:1], g.Private...) {
		for _, key := range []string{"forwarding", "accept_local", "rp_filter", "accept_redirects", "send_redirects"} {
			key = "net/ipv4/conf/" + ifname + "/" + key
			value, err := g.Sysctl(key)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", key, err)
			}
			found[key] = value
		}
	}
	return found, nil
}

// Step 10: the gateway puts back what it changed, and the lab goes.
func (s *story) stopClean(context.Context) error {
	s.closeVisits()
	g := s.realm.Gateway
	during, err := readSettings(g)
	if err != nil {
		return err
	}
	attached, err := g.Attached()
	if err == nil {
		// Both of its interfaces, and its own by which fragments come again that were held.
		err = expect("interfaces with a program while the gateway runs", len(attached), 3)
	}
	if err != nil {
		return err
	}
	if err := s.gateway.stop(); err != nil {
		return err
	}
	s.tell.say("The gateway is asked to stop, and ends without an error.")
	changed, err := s.putBack(during)
	if err != nil {
		return err
	}
	s.tell.say("The %d kernel settings that it had changed are as before.", changed)
	if attached, err = g.Attached(); err == nil {
		err = expect("interfaces with a program after the stop", len(attached), 0)
	}
	if err == nil {
		err = expect("what it left in the BPF file system", s.files.pins(s.id), "")
	}
	if err != nil {
		return err
	}
	s.tell.say("Its programs are off all interfaces, and it left no table behind.")
	s.tell.see("settings_restored", changed)
	return s.closeLab()
}

// putBack compares the settings with those before the gateway ran, and counts
// those that it had changed.
func (s *story) putBack(during settings) (int, error) {
	after, err := readSettings(s.realm.Gateway)
	if err != nil {
		return 0, err
	}
	changed := 0
	for key, before := range s.before {
		if err := expect("the setting "+key+" after the stop", after[key], before); err != nil {
			return 0, err
		}
		if during[key] != before {
			changed++
		}
	}
	return changed, nil
}

func (s *story) closeVisits() {
	s.annVisit.close()
	s.bobVisit.close()
}
