package allocation

import (
	"errors"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// Over kill -9 an address is still none for a service in a zone of which sessions of another owner stand there, though a
// third has it.
func TestStandingSessionsBlockOverAKill(t *testing.T) {
	all := webs(3)
	all[2].Zones = all[0].Zones
	w := newWorld(t, 1, all)
	w.mustAsk(client, all[0])
	w.claim()
	var first uint64
	for id := range w.plane.bindings {
		first = id
	}
	w.plane.sessions[first] = 1
	w.pass(rest + time.Second)
	w.mustAsk(client, all[1])
	w.begin(true)
	w.pass(rest + time.Second)
	if address, err := w.ask(client, all[2]); !errors.Is(err, nameserver.ErrExhausted) {
		t.Errorf("%s, %v", address, err)
	}
	w.plane.sessions[first] = 0
	w.mustAsk(client, all[2])
}

// The zones of what rests outlive a reboot.
func TestZonesAreKept(t *testing.T) {
	services := webs(1)
	services[0].Zones = []model.Name{"zone1.", "zone2."}
	w := newWorld(t, 1, services)
	address := w.mustAsk(client, web(1))
	w.services = nil
	w.plane, w.now = newPlane(), 1
	w.begin(false)
	kept, err := readKept(w.store, nil)
	if list := kept[address]; err != nil || len(list) != 1 || !list[0].Resting || len(list[0].Zones) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

// A file of an earlier build has the zone of the first name, as another key: its bindings are taken up all the same.
func TestFilesWithOneZoneAreTakenUp(t *testing.T) {
	w := newWorld(t, 2, webs(1))
	address := w.mustAsk(client, web(1))
	w.store.entries[address.String()] = []byte(`[{"service":"www.host1.foo.example.","owner":"host1.foo.example.","zone":"zone1.",` +
		`"host":"10.0.0.1","ports":["tcp/80:8080"]}]`)
	w.plane, w.now = newPlane(), 1
	w.begin(false)
	kept, err := readKept(w.store, nil)
	if list := kept[address]; err != nil || len(list) != 1 || list[0].Resting || len(list[0].Zones) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}
