package cli

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/geodata"
	"github.com/realmgate/realmgate/internal/guard/geo"
	geofence "github.com/realmgate/realmgate/internal/guard/geo/settings"
)

func newGeo(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "geo",
		Short: "Make and ask the table of where addresses are",
		Long: `Make and ask the table of where addresses are, by which geofences judge. Neither
needs a running gateway.`,
		Example: `  realmgate geo update country.mmdb asn.mmdb && realmgate reload
  realmgate geo lookup 192.0.2.1`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newGeoUpdate(a), newGeoLookup(a))
	return command
}

func newGeoUpdate(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "update SOURCE...",
		Short: "Make the table anew",
		Long: `Make the table of where addresses are anew, of sources that each say countries or
autonomous systems, of IPv4, IPv6 or both. A source is a file or a URL, MMDB or CSV
(FIRST,LAST,COUNTRY or FIRST,LAST,ASN,NAME), which may be compressed by gzip.
SOURCE#sha256=HEX is refused unless its uncompressed data has that checksum. The
table that is there stays until the new one is whole, and where the new one would
have no ASNs, or no IPv6, and it has; the gateway takes the new one at its next
reload.`,
		Example: `  realmgate geo update dbip-country-lite.mmdb.gz dbip-asn-lite.mmdb.gz
  realmgate geo update https://lists.example/country.csv#sha256=9f86d0...`,
		Args: func(_ *cobra.Command, sources []string) error {
			if len(sources) == 0 {
				return usageError("give a SOURCE: a file or a URL")
			}
			return nil
		},
	}
	path := command.Flags().String("table", geofence.DefaultGeoTable, "the `FILE` to write")
	command.RunE = func(command *cobra.Command, sources []string) error {
		return does(func(ctx context.Context) error {
			table, err := geodata.Make(ctx, *path, sources)
			if err != nil {
				return err
			}
			return a.writeSources(*path, table)
		})(command, sources)
	}
	return command
}

func (a *app) writeSources(path string, table *geo.Table) error {
	t := newTable("SOURCE", "DATE", ">RANGES", ">SKIPPED")
	for _, s := range table.Sources() {
		date := "-"
		if !s.Date.IsZero() {
			date = s.Date.UTC().Format(time.DateOnly)
		}
		t.add(s.Name, date, count(uint64(s.Rows)), count(uint64(s.Skipped)))
	}
	_, err := io.WriteString(a.stdout, t.String()+fmt.Sprintf("written to %s: realmgate reload puts it into force\n", path))
	return written(err)
}

// whereabouts is what geo lookup says of an address.
type whereabouts struct {
	Address   netip.Addr `json:"address"`
	Country   string     `json:"country"`
	Continent string     `json:"continent"`
	ASN       uint32     `json:"asn"`
	Special   bool       `json:"special"`
}

func newGeoLookup(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "lookup ADDRESS",
		Short: "Say where an address is",
		Long: `Say in which country an address is, on which continent, and which autonomous system
announces it, as the table has it. Private, multicast and other special addresses
are nowhere.`,
		Example: "  realmgate geo lookup 192.0.2.1",
		Args:    takes("an address, IPv4 or IPv6"),
	}
	output := outputFlag(command)
	path := command.Flags().String("table", geofence.DefaultGeoTable, "the `FILE` of the table")
	command.RunE = func(command *cobra.Command, args []string) error {
		address, err := netip.ParseAddr(args[0])
		if err != nil {
			return usageError(fmt.Sprintf("want an address, IPv4 or IPv6, not %q", args[0]))
		}
		return does(func(context.Context) error {
			place, err := lookUp(*path, address)
			if err != nil {
				return err
			}
			w := whereabouts{address, place.Country, place.Continent, place.ASN, place.Special}
			if output.value == "json" {
				return writeJSON(a.stdout, w)
			}
			t := newTable("ADDRESS", "COUNTRY", "CONTINENT", "ASN")
			switch {
			case w.Special:
				t.add(w.Address.String(), "special", "-", "-")
			default:
				t.add(w.Address.String(), known(w.Country), known(w.Continent), known(asnText(w.ASN)))
			}
			_, err = io.WriteString(a.stdout, t.String())
			return written(err)
		})(command, args)
	}
	return command
}

func lookUp(path string, a netip.Addr) (geo.Place, error) {
	file, err := os.Open(path)
	if err != nil {
		return geo.Place{}, fmt.Errorf("%w: realmgate geo update SOURCE makes the table", err)
	}
	defer func() { _ = file.Close() }() // only read: nothing can be lost
	table, err := geo.Load(file)
	if err != nil {
		return geo.Place{}, fmt.Errorf("%s: %w", path, err)
	}
	return table.Lookup(a), nil
}

func known(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}

func asnText(n uint32) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(n), 10)
}
