package dut

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/realmgate/realmgate/internal/guard/geo"
	"github.com/realmgate/realmgate/internal/lab/bench"
)

const (
	// geoRanges is about as many ranges of IPv4 as real tables have: the package
	// tor-geoipdb of 2026-06 has 386,000.
	geoRanges = 386_000
	// denseRanges is how many the densest /16 has there.
	denseRanges = 10_724
)

// protection writes what the setup's protection needs, and returns the configuration of
// it, "" for none. It is asked about flows of both directions; where the tester's
// destinations are, the ranges are as dense as they come.
func (d *realmgateDevice) protection() (string, error) {
	if d.setup.Blocked == 0 {
		return "", nil
	}
	table, list := filepath.Join(d.rig.Directory, d.rig.Instance+".geo"), filepath.Join(d.rig.Directory, d.rig.Instance+".blocked")
	if err := writeGeoTable(table); err != nil {
		return "", err
	}
	var lines strings.Builder
	for _, p := range banned(d.setup.Blocked) {
		fmt.Fprintln(&lines, p.Addr())
	}
	if err := os.WriteFile(list, []byte(lines.String()), 0o600); err != nil {
		return "", fmt.Errorf("write the blocklist: %w", err)
	}
	return fmt.Sprintf(`sets:
- {name: blocked, file: %s}
- {name: dense, addresses: [%s]}
protection:
  allowlist: [192.0.2.1]
  blocklist: [{set: blocked}, {set: dense, direction: in}]
  honeypot: {tcp: [23, 2323], udp: [1900]}
  geo_table: %s
  geofence: [{deny: [country:AQ, country:BV, continent:OC], unknown: deny}]
`, list, strings.Join(dense(), ", "), table), nil
}

// dense are single addresses of the destinations' /16: each begins a range and ends one.
func dense() (list []string) {
	const step = 1 << 16 / (denseRanges / 2)
	first := binary.BigEndian.Uint32(bench.Destinations.Addr().AsSlice())
	for n := uint32(0); n < 1<<16; n += step {
		list = append(list, addressAt(first+n).String())
	}
	return list
}

func addressAt(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n)))
}

// writeGeoTable makes a table of countries in ranges of equal size.
func writeGeoTable(path string) error {
	countries := []string{"FI", "AQ", "DE", "AU", "BV", "IT", "US", "BR", "NZ", "JP"}
	const size = 1 << 32 / geoRanges
	var rows strings.Builder
	for n := range uint32(geoRanges) {
		fmt.Fprintf(&rows, "%d,%d,%s\n", n*size, n*size+size-1, countries[int(n)%len(countries)])
	}
	var b geo.Builder
	if err := b.ReadCSV(strings.NewReader(rows.String()), geo.Source{Name: "made up"}); err != nil {
		return fmt.Errorf("make a geo table: %w", err)
	}
	table, err := b.Build()
	if err != nil {
		return fmt.Errorf("make a geo table: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the geo table: %w", err)
	}
	err = table.Save(file)
	if e := file.Close(); err == nil {
		err = e
	}
	return err
}
