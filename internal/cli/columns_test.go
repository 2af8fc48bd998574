package cli

import (
	"bytes"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
)

// A listing's columns are the fields of its rows that have a heading.
func TestColumnsOfAListing(t *testing.T) {
	t.Parallel()
	type row struct {
		Name    string     `table:"NAME"`
		Hidden  string     // in the JSON alone
		Count   uint64     `table:">COUNT"`
		Address netip.Addr `table:"ADDRESS"`
		Last    time.Time  `table:"LAST"`
	}
	a := newApp(&bytes.Buffer{}, &bytes.Buffer{})
	a.now = func() time.Time { return started.Add(time.Minute) }
	rows := []row{{"a", "x", 12345, netip.MustParseAddr("192.0.2.1"), started}, {Name: "none"}}
	want := "NAME   COUNT  ADDRESS    LAST\n" +
		"a     12,345  192.0.2.1  1m00s ago\n" +
		"none       0  -          -\n"
	if got := a.tableOf(client.Listing{Row: row{}}, reflect.ValueOf(rows)).String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
