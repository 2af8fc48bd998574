package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/guard/geo"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/model"
)

// moved gives a client an address that is somewhere: those of labs are nowhere.
func (r *realm) moved(n netns.Node, to string) netns.Node {
	r.t.Helper()
	if err := errors.Join(n.Address("eth0", to+"/32"), r.Router.Route(to+"/32", n.IP.String())); err != nil {
		r.t.Fatal(err)
	}
	run := func(arguments ...string) string {
		out, err := n.Command(context.Background(), "ip", arguments...).CombinedOutput()
		if err != nil {
			r.t.Fatalf("ip %v: %v: %s", arguments, err, out)
		}
		return string(out)
	}
	way := strings.Fields(run("route", "show", "default"))
	run(slices.Concat([]string{"route", "replace"}, way, []string{"src", to})...)
	n.IP = netip.MustParseAddr(to)
	return n
}

// places writes a table in which each address is in a country of its own, and an
// autonomous system that none of them is of.
func places(t *testing.T, path string, countries map[string]string) {
	t.Helper()
	var b geo.Builder
	var rows []string
	for _, a := range slices.Sorted(maps.Keys(countries)) {
		n := model.AddressNumber(netip.MustParseAddr(a))
		rows = append(rows, fmt.Sprintf("%d,%d,%s\n", n, n, countries[a]))
	}
	if err := b.ReadCSV(strings.NewReader(strings.Join(rows, "")), geo.Source{Name: "the test's"}); err != nil {
		t.Fatal(err)
	}
	if err := b.ReadCSV(strings.NewReader("77.0.0.200,77.0.0.200,64500,nobody's here\n"), geo.Source{Name: "the test's"}); err != nil {
		t.Fatal(err)
	}
	table, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Save(file); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// The guide's geofence lets in who is where it allows, ends what is open to others, and
// holds for flows that go out by its other entry; a country is in front of its continent.
func TestGuideGeofence(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, RemoteClients: 4})
	r.echoServers()
	finland, belarus, korea, nobody := r.moved(r.RemoteClients[0], "77.0.0.1"), r.moved(r.RemoteClients[1], "77.0.0.2"),
		r.moved(r.RemoteClients[2], "77.0.0.3"), r.moved(r.RemoteClients[3], "77.0.0.4")
	echoServer(t, belarus, 7, "belarus")
	echoServer(t, korea, 7, "korea")
	d := r.start(r.configuration())
	talk := r.conversation(belarus, 0)
	d.write(r.configuration() + r.guideFrom("protection", "geofence.md"))
	if out, err := d.tell("reload"); err == nil || !strings.Contains(out, "run realmgate geo update") {
		t.Errorf("a reload without a table: %v: %s", err, out)
	}
	places(t, filepath.Join(filepath.Dir(d.config), "geo.table"), map[string]string{"77.0.0.1": "FI", "77.0.0.2": "BY", "77.0.0.3": "KP"})
	d.write(r.configuration() + strings.Replace(r.guideFrom("protection", "geofence.md"), "protection:\n", "protection:\n  geo_table: geo.table\n", 1))
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	if !d.refuses(talk, "drop_denied") {
		t.Error("what was open to who is denied goes on")
	}
	r.mustReach(finland, 0)
	for what, from := range map[string]netns.Node{"a country on a continent that is allowed": belarus, "what nothing names": korea, "nobody knows where": nobody} {
		address := r.mustLend(from, "echo."+hostName(0))
		if who, err := echo(from, netip.AddrPort{}, echoAddress(address)); err == nil {
			t.Errorf("%s: %s reached %s", what, from.IP, who)
		}
	}
	for to, want := range map[netns.Node]bool{belarus: true, korea: false} {
		if who, err := echo(r.Hosts()[0], netip.AddrPort{}, echoAddress(to.IP)); (err == nil) != want {
			t.Errorf("a host inside reached %s at %s: %v, want it to: %t", who, to.IP, err, want)
		}
	}
	for address, want := range map[string]string{"77.0.0.2": "in BY, EU: by country:BY", "77.0.0.4": "where nobody knows: by unknown", "77.0.0.1": "in FI, EU: by country:FI"} {
		if out, err := d.tell("explain", address, "--to", "echo."+hostName(0)); err != nil || !strings.Contains(out, want) {
			t.Errorf("explain %s: %v: %s", address, err, out)
		}
	}
}
