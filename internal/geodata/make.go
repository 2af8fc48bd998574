package geodata

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/guard/geo"
	"github.com/realmgate/realmgate/internal/guard/lists"
)

// limits are of a source: the largest that is published has 120 MB.
var limits = lists.Limits{Timeout: 10 * time.Minute, Bytes: 256 << 20}

// checksum begins what the data of a source must have: its SHA-256, in hexadecimal.
const checksum = "#sha256="

// Make makes a table of sources and writes it. A source is a file or a URL of one, MMDB or
// CSV, which may be compressed by gzip; behind it may be the checksum of its data. The
// table that is there stays as it is until the new one is whole, and also where it says
// something that the new one would not: a configuration may need that.
func Make(ctx context.Context, path string, sources []string) (*geo.Table, error) {
	fetcher := lists.NewFetcher("realmgate", limits)
	var b geo.Builder
	for _, source := range sources {
		if err := read(ctx, fetcher, &b, source); err != nil {
			return nil, err
		}
	}
	table, err := b.Build()
	if err != nil {
		return nil, err
	}
	if err := lost(path, knownBy(path), knownTo(table)); err != nil {
		return nil, err
	}
	return table, write(table, path)
}

// read reads a source into a table.
func read(ctx context.Context, fetcher *lists.Fetcher, b *geo.Builder, source string) error {
	address, want, checked := strings.Cut(source, checksum)
	from := geo.Source{Name: address}
	if u, err := url.Parse(address); err == nil && u.Scheme != "" {
		from.Name = u.Redacted()
	} else {
		path, err := filepath.Abs(address)
		if err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
		address = (&url.URL{Scheme: "file", Path: path}).String()
	}
	answer, err := fetcher.Fetch(ctx, address, lists.Validators{})
	if err != nil {
		return fmt.Errorf("%s: %w", from.Name, err)
	}
	sum := sha256.Sum256(answer.Body)
	if have := hex.EncodeToString(sum[:]); checked && !strings.EqualFold(have, want) {
		return fmt.Errorf("%s: its data has SHA-256 %s, want %s", from.Name, have, cmp.Or(want, "one"))
	}
	for _, layout := range []string{http.TimeFormat, time.RFC3339Nano} { // a server's, a file's
		if at, err := time.Parse(layout, answer.Validators.Modified); err == nil {
			from.Date = at
		}
	}
	return b.Read(answer.Body, from)
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
