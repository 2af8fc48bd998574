package geodata

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/realmgate/realmgate/internal/guard/geo"
	"github.com/realmgate/realmgate/internal/guard/geo/unpack"
)

// Options say what the table is made of.
type Options struct {
	Country string // a .deb of tor-geoipdb, or an .mmdb; "": apt-get fetches the package
	ASN     string // a .tgz of @ip-location-db/asn, an .mmdb, or None; "": npm fetches the package, where there is npm
	Table   string // the file to write
}

// None stands in Options.ASN for no source of ASNs beside the one of countries.
const None = "none"

// Make makes the table and writes it. The file that is there stays as it is until the new
// one is whole, and also where it says something that the new one would not: a
// configuration may need that. note is told what is left out, and why.
func Make(ctx context.Context, o Options, note func(string)) (*geo.Table, error) {
	directory, err := os.MkdirTemp("", "realmgate-geo-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for packages: %w", err)
	}
	defer func() { _ = os.RemoveAll(directory) }() // all that it has can be had again
	table, without, err := build(ctx, directory, o)
	if err != nil {
		return nil, err
	}
	now := knownTo(table)
	if err := lost(o, knownBy(o.Table), now, without); err != nil {
		return nil, err
	}
	if without != nil && !now.asns4 && !now.asns6 {
		note("without ASNs: " + without.Error())
	}
	return table, write(table, o.Table)
}

// build makes a table of its sources, fetched into the folder where they are not given.
// without says why there is no source of ASNs where one was wanted.
func build(ctx context.Context, directory string, o Options) (table *geo.Table, without, err error) {
	var b geo.Builder
	if o.Country == "" {
		if o.Country, err = fetchDebian(ctx, directory); err != nil {
			return nil, nil, err
		}
	}
	if err := read(&b, o.Country); err != nil {
		return nil, nil, err
	}
	if o.ASN == "" {
		o.ASN, err = fetchNPM(ctx, directory)
	}
	switch {
	case errors.Is(err, errNoNPM):
		without = err
	case err != nil:
		return nil, nil, err
	case o.ASN != None && o.ASN != o.Country: // one file may say both
		if err := read(&b, o.ASN); err != nil {
			return nil, nil, err
		}
	}
	table, err = b.Build()
	return table, without, err
}

// read reads a package or a file, by the ending of its name.
func read(b *geo.Builder, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read where addresses are: %w", err)
	}
	defer func() { _ = file.Close() }() // only read: nothing can be lost
	name := filepath.Base(path)
	switch {
	case strings.HasSuffix(name, ".mmdb"):
		return b.ReadMMDB(file, geo.Source{Name: name})
	case strings.HasSuffix(name, ".deb"):
		return readFrom(file, name, unpack.Deb, b.ReadTor, "usr/share/tor/geoip", "usr/share/tor/geoip6")
	case strings.HasSuffix(name, ".tgz"):
		return readFrom(file, name, unpack.Tgz, b.ReadASN, "package/asn-ipv4.csv", "package/asn-ipv6.csv")
	}
	return fmt.Errorf("%s: want a .deb of tor-geoipdb, a .tgz of @ip-location-db/asn, or an .mmdb", path)
}

func readFrom(r io.Reader, archive string, open func(io.Reader, ...string) (map[string][]byte, error), read func(io.Reader, geo.Source) error, names ...string) error {
	files, err := open(r, names...)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", archive, err)
	}
	for _, name := range names {
		if err := read(bytes.NewReader(files[name]), geo.Source{Name: archive + ": " + name}); err != nil {
			return err
		}
	}
	return nil
}

// write puts the table in the place of the one before, and sees to it that it is on the
// disk then.
func write(table *geo.Table, path string) (err error) {
	directory := filepath.Dir(path)
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return fmt.Errorf("make the folder of the table: %w", err)
	}
	next, err := os.CreateTemp(directory, filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write the table: %w", err)
			_ = os.Remove(next.Name()) // it is no use to anybody
		}
	}()
	err = errors.Join(table.Save(next), next.Chmod(0o644), next.Sync(), next.Close()) // what it has is public
	if err != nil {
		return err
	}
	return os.Rename(next.Name(), path)
}
