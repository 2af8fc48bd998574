package natlog

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// What finds no room is lost and counted, and said in its place; each record is delivered, lost or waits.
func TestQueue(t *testing.T) {
	t.Parallel()
	q := queue{room: 4}
	for port := range uint16(6) {
		q.put(mapping(MappingBegun, 1, port))
	}
	if q.lost != 2 || len(q.waiting) != 4 {
		t.Errorf("%d are lost, %d wait", q.lost, len(q.waiting))
	}
	q.done(1, 0)
	q.put(mapping(MappingBegun, 1, 6)) // there is room for it, but not for what was lost before it
	q.done(2, 1)
	q.put(mapping(MappingBegun, 1, 7))
	var text []string
	for _, r := range q.waiting {
		text = append(text, fmt.Sprintf("%s %d %d", r.Kind, r.External.Port(), r.Count))
	}
	if got := strings.Join(text, " "); got != "mapping_begun 3 0 lost 0 3 mapping_begun 7 0" {
		t.Errorf("there wait %q", got)
	}
	if q.delivered != 2 || q.lost != 4 {
		t.Errorf("%d are delivered, %d lost", q.delivered, q.lost)
	}
	q.done(3, 0)
	if q.delivered != 4 || q.delivered+q.lost != 8 {
		t.Errorf("of 8 %d are delivered, %d lost", q.delivered, q.lost)
	}
}

// Who was refused is told once a minute for each reason, of hosts inside alone; beyond the bound all others are one.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	drop := func(host netip.Addr, side string, reason model.Reason) {
		s.refused(datapath.DropEvent{Side: side, Reason: reason, Tuple: model.Tuple{Source: netip.AddrPortFrom(host, 1)}})
	}
	host := netip.MustParseAddr("10.0.0.1")
	for range 3 {
		drop(host, "private", model.ReasonDropNoPort)
	}
	drop(host, "private", model.ReasonDropHostPorts)
	drop(host, "private", model.ReasonDropMalformed)
	drop(host, "public", model.ReasonDropNoPort)
	all := s.rate.take(noon)
	if len(all) != 2 || all[refusal{host, model.ReasonDropNoPort}] != 3 || all[refusal{host, model.ReasonDropHostPorts}] != 1 {
		t.Errorf("refused were %v", all)
	}
	for range mostRefused + 10 {
		host = host.Next()
		drop(host, "private", model.ReasonDropNoPort)
	}
	if all := s.rate.take(noon.Add(time.Second)); all != nil {
		t.Errorf("within the minute it tells %d", len(all))
	}
	if all := s.rate.take(noon.Add(time.Minute)); len(all) != mostRefused+1 || all[refusal{reason: model.ReasonDropNoPort}] != 10 {
		t.Errorf("%d are told", len(all))
	}
}
