package geo

import (
	"fmt"
	"io"
	"net/netip"

	"github.com/oschwald/maxminddb-golang/v2"
)

// mmdbRecord is what is used of what an MMDB file says of a network.
type mmdbRecord struct {
	Country    mmdbCountry `maxminddb:"country"`
	Registered mmdbCountry `maxminddb:"registered_country"`
	ASN        uint32      `maxminddb:"autonomous_system_number"`
}

type mmdbCountry struct {
	Code string `maxminddb:"iso_code"`
}

// mmdbFile is an MMDB file as it is read.
type mmdbFile struct {
	name          string
	v4            drafts[v4]
	v6            drafts[v6]
	seen          map[uintptr]mmdbSaid // by the place of the record
	nets          int
	rows, skipped int
	firstSkipped  error
	country, asn  bool // some record has one
}

type mmdbSaid struct {
	country  code
	asn      uint32
	assigned bool
}

// ReadMMDB reads a user's file in MaxMind's format, of at most 256 MiB: the countries
// (country.iso_code), the ASNs (autonomous_system_number), or both, of both families where
// it has both. Where it has no country for a network, that in which the network is
// registered stands for it (registered_country.iso_code): so do the other sources. The
// date is the file's own where it has one.
func (b *Builder) ReadMMDB(r io.Reader, from Source) error {
	data, err := readSource(r, from)
	if err != nil {
		return err
	}
	db, err := maxminddb.OpenBytes(data)
	if err != nil {
		return fmt.Errorf("%s is no MMDB file: %w", from.Name, err)
	}
	f := &mmdbFile{name: from.Name, seen: map[uintptr]mmdbSaid{}}
	// Networks without data count too, so that a tree cannot be gone through for ever.
	for result := range db.Networks(maxminddb.IncludeNetworksWithoutData()) {
		if err := f.read(result); err != nil {
			return err
		}
	}
	says, err := f.says(db.Metadata.IPVersion == 6)
	if err != nil {
		return err
	}
	if db.Metadata.BuildEpoch > 0 {
		from.Date = db.Metadata.BuildTime().UTC()
	}
	from.Rows, from.Skipped, from.SHA256 = f.rows, f.skipped, sumOf(data)
	return b.take(from, says, &f.v4, &f.v6)
}

func (f *mmdbFile) says(both bool) (list []kind, err error) {
	if f.skipped*rowsPerSkipped > f.rows {
		return nil, f.firstSkipped
	}
	if f.country {
		list = append(list, country4)
	}
	if f.asn {
		list = append(list, asn4)
	}
	if both && f.country {
		list = append(list, country6)
	}
	if both && f.asn {
		list = append(list, asn6)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has neither country.iso_code nor autonomous_system_number: want a country or an ASN database", f.name)
	}
	return list, nil
}

func (f *mmdbFile) read(result maxminddb.Result) error {
	if err := result.Err(); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	if f.nets++; f.nets > 2*mostRows {
		return fmt.Errorf("%s has more than %d networks", f.name, 2*mostRows)
	}
	if !result.Found() {
		return nil
	}
	said, err := f.decode(result)
	if err != nil {
		return err
	}
	network := result.Prefix()
	if !said.assigned {
		if f.skipped++; f.skipped == 1 {
			f.firstSkipped = fmt.Errorf("%s: %s has a code that no country has", f.name, network)
		}
	}
	if f.rows++; f.rows > mostRows {
		return fmt.Errorf("%s has more than %d networks with data", f.name, mostRows)
	}
	if network.Addr().Is4() {
		return addNetwork(f, &f.v4, network, rangeV4, said)
	}
	return addNetwork(f, &f.v6, network, rangeV6, said)
}

// decode returns what a network's record says. Records are shared, and each is decoded once.
func (f *mmdbFile) decode(result maxminddb.Result) (mmdbSaid, error) {
	if said, known := f.seen[result.Offset()]; known {
		return said, nil
	}
	var record mmdbRecord
	if err := result.Decode(&record); err != nil {
		return mmdbSaid{}, fmt.Errorf("%s: %s: %w", f.name, result.Prefix(), err)
	}
	said := mmdbSaid{asn: record.ASN, assigned: true}
	text := record.Country.Code
	if text == "" {
		text = record.Registered.Code
	}
	if text != "" {
		var err error
		if said.country, said.assigned, err = readCountry(text); err != nil {
			return said, fmt.Errorf("%s: %s: %w", f.name, result.Prefix(), err)
		}
		f.country = true
	}
	f.asn = f.asn || said.asn != 0
	f.seen[result.Offset()] = said
	return said, nil
}

func addNetwork[A address[A]](f *mmdbFile, to *drafts[A], network netip.Prefix, edges func(netip.Prefix) (A, A), said mmdbSaid) error {
	first, last := edges(network)
	if !to.country.add(first, last, said.country) || !to.asn.add(first, last, said.asn) {
		return fmt.Errorf("%s: %s is there twice", f.name, network)
	}
	return nil
}
