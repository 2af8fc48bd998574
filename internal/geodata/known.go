package geodata

import (
	"fmt"
	"os"

	"github.com/realmgate/realmgate/internal/guard/geo"
)

// known is what a table says something about.
type known struct{ countries4, countries6, asns4, asns6 bool }

func knownTo(t *geo.Table) (k known) {
	k.countries4, k.asns4 = t.Has()
	k.countries6, k.asns6 = t.Has6()
	return k
}

// knownBy is what the table in a file says something about: nothing where it cannot be
// read, for then no gateway can start with it either.
func knownBy(path string) known {
	file, err := os.Open(path)
	if err != nil {
		return known{}
	}
	defer func() { _ = file.Close() }() // only read: nothing can be lost
	table, err := geo.Load(file)
	if err != nil {
		return known{}
	}
	return knownTo(table)
}

// lost refuses a table that says nothing of what the one before it does.
func lost(path string, was, now known) error {
	for _, c := range []struct {
		what     string
		was, now bool
	}{
		{"countries of IPv4", was.countries4, now.countries4},
		{"countries of IPv6", was.countries6, now.countries6},
		{"ASNs of IPv4", was.asns4, now.asns4},
		{"ASNs of IPv6", was.asns6, now.asns6},
	} {
		if c.was && !c.now {
			return fmt.Errorf("%s stays, for it has %s and the new table would have none: give a source that has them, or move the file away to do without", path, c.what)
		}
	}
	return nil
}
