package settings

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/schema"
)

const (
	mostSets    = 256
	mostInSet   = 1_000_000 // entries
	maxSetFile  = 64 << 20  // bytes
	longestLine = 4096      // of it
)

// Set is a set of addresses that conditions name.
type Set struct {
	Name      string
	File      string // as the configuration has it; empty: the addresses are there
	Addresses *model.AddressSet
}

type setEntry struct {
	schema.Begun
	set                               Set
	addresses                         []schema.At[netip.Prefix]
	nameLine, fileLine, addressesLine int
}

func (s *setEntry) keys() []schema.Key {
	return []schema.Key{
		schema.OneAt("name", &s.set.Name, &s.nameLine, schema.Label()).Must(),
		schema.Noting(&s.fileLine, schema.One("file", &s.set.File, schema.FileName()).Otherwise("none")),
		schema.Noting(&s.addressesLine, schema.Many("addresses", &s.addresses, schema.AnyNetwork(), 1)),
	}
}

// SetsDraft is `sets`.
type SetsDraft struct {
	sets    *[]Set
	known   []Set
	users   []nf.SetUser
	entries []*setEntry
}

// NewSets makes a draft whose values go to sets, which the users name. The files of known ones are not read again.
func NewSets(sets *[]Set, known []Set, users ...nf.SetUser) *SetsDraft {
	return &SetsDraft{sets: sets, known: known, users: users}
}

// Keys implements schema.Draft.
func (d *SetsDraft) Keys() []schema.Key {
	return []schema.Key{schema.ListOf("sets", &d.entries, (*setEntry).keys).Most(mostSets)}
}

// Finish implements schema.Draft: it reads the files of sets, and sees to it that each set that is named is there.
func (d *SetsDraft) Finish(faults *schema.Faults) {
	taken := schema.Names{}
	for i, s := range d.entries {
		path := fmt.Sprintf("sets[%d]", i)
		taken.Take(faults, path, s.set.Name, s.nameLine)
		if !s.takeKnown(d.known) {
			s.finish(faults, path)
		}
		*d.sets = append(*d.sets, s.set)
	}
	for _, user := range d.users {
		for _, u := range user.Sets() {
			if _, known := taken[u.Name]; !known {
				faults.Add(u.Line, "%s: there is no set %s under sets", u.Path, u.Name)
			}
		}
	}
}

// takeKnown takes the addresses of a set that is of the same file.
func (s *setEntry) takeKnown(known []Set) bool {
	i := slices.IndexFunc(known, func(k Set) bool { return k.File == s.set.File && k.File != "" })
	if i < 0 || s.addressesLine > 0 {
		return false
	}
	s.set.Addresses = known[i].Addresses
	return true
}

func (s *setEntry) finish(faults *schema.Faults, path string) {
	var ranges model.Ranges
	if s.Either(faults, path, "file or addresses", s.addressesLine, s.fileLine) && s.set.File != "" {
		var err error
		if ranges, err = readSet(faults.File, s.set.File); err != nil {
			faults.Add(s.fileLine, "%s.file: %v", path, err)
		}
	}
	if len(s.addresses) > mostInSet {
		faults.Add(s.addressesLine, "%s.addresses: there are %d, a set has at most %d", path, len(s.addresses), mostInSet)
	}
	for _, p := range s.addresses {
		ranges.Add(p.Value)
	}
	s.set.Addresses = ranges.Set()
}

// readSet reads the file of a set.
func readSet(configuration, path string) (ranges model.Ranges, err error) {
	file, err := schema.OpenBeside(configuration, path, "set")
	if err != nil {
		return ranges, err
	}
	defer func() { _ = file.Close() }() // only read: nothing can be lost
	ranges, line, err := parseSet(io.LimitReader(file, maxSetFile+1))
	switch {
	case err == nil:
		return ranges, nil
	case line == 0:
		return ranges, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return ranges, fmt.Errorf("%s:%d: %w", file.Name(), line, err)
}

// parseSet reads an address or a prefix from each line; what follows a # is a comment.
// With an error it returns the line that is wrong, 0 where that is none.
func parseSet(r io.Reader) (ranges model.Ranges, line int, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, longestLine), longestLine)
	size, entries := 0, 0
	for lines.Scan() {
		line++
		if size += len(lines.Bytes()) + 1; size > maxSetFile {
			return ranges, 0, fmt.Errorf("the file is larger than %d bytes", maxSetFile)
		}
		text, _, _ := bytes.Cut(lines.Bytes(), []byte("#"))
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		if entries++; entries > mostInSet {
			return ranges, line, fmt.Errorf("a set has at most %d entries", mostInSet)
		}
		p, err := model.ParseNetwork(string(text))
		if err != nil {
			return ranges, line, setEntryError(string(text), err)
		}
		ranges.Add(p)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return ranges, line + 1, fmt.Errorf("the line is longer than %d bytes", longestLine)
	}
	return ranges, 0, lines.Err()
}

func setEntryError(text string, err error) error {
	if !errors.Is(err, model.ErrNoNetwork) {
		return err
	}
	return fmt.Errorf("want an address or a prefix (203.0.113.0/24, 2001:db8::/32), not %s", schema.Quote(text))
}
