package geodata

import (
	"fmt"
	"os"

	"github.com/realmgate/realmgate/internal/guard/geo"
)

// known is what a table says something about.
type known struct{ countries4, countries6, asns4, asns6 bool }

func knownTo(t *geo.Table) (k known) {
	k.countries4, k.asns4 = t.Knows()
	k.countries6, k.asns6 = t.Knows6()
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

// lost refuses a table that says nothing of what the one before it does, but for ASNs that
// are given up. without is why it has no source of ASNs, or nil.
func lost(o Options, was, now known, without error) error {
	countries := "give a source that has them, or move the file away to do without"
	asns := "give a source that has them by --asn, or do without by --asn " + None
	if without != nil {
		asns = without.Error()
	}
	for _, c := range []struct {
		what   string
		lost   bool
		remedy string
	}{
		{"countries of IPv4", was.countries4 && !now.countries4, countries},
		{"countries of IPv6", was.countries6 && !now.countries6, countries},
		{"ASNs of IPv4", was.asns4 && !now.asns4 && o.ASN != None, asns},
		{"ASNs of IPv6", was.asns6 && !now.asns6 && o.ASN != None, asns},
	} {
		if c.lost {
			return fmt.Errorf("%s stays, for it has %s and the new table would have none: %s", o.Table, c.what, c.remedy)
		}
	}
	return nil
}
