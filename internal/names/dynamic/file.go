package dynamic

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/realmgate/realmgate/internal/names/dynamic/settings"
)

const (
	mostOctets  = 256 << 20 // of all files of a source together
	longestLine = 8192
	mostLeases  = 1 << 18 // that are read of a server's files; other addresses are left out
)

// What Kea's cleanup leaves beside the file that the server appends to, by the suffix: all of it, or the past and what is being
// cleaned up. It was rotated away when that began, so the file alone is not all.
const (
	keaCleaned = ".completed"
	keaPast    = ".2"
	keaBusy    = ".1"
)

// errMoving is that a file changed while it was read, in another way than the one in which its server always does.
var errMoving = errors.New("it changes while it is read")

// contents are what a source's files say.
type contents struct {
	leases []Lease
	at     map[netip.Addr]int // which of them is of an address
	bad    int
	wrong  error // the first bad line
	partly bool  // they may say more, of which nothing is known
}

// of is what they say of an address; nil: nothing.
func (c *contents) of(a netip.Addr) *Lease {
	i, known := c.at[a]
	if !known {
		return nil
	}
	return &c.leases[i]
}

// stamp tells whether files are as they were.
type stamp struct {
	path     string
	inode    uint64
	size     int64
	modified time.Time
}

// stampOf looks at files; one that is not there has no inode.
func stampOf(paths []string) ([]stamp, error) {
	stamps := make([]stamp, len(paths))
	for i, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			stamps[i].path = path
			continue
		}
		if err == nil {
			stamps[i], err = stamped(path, info)
		}
		if err != nil {
			return nil, err
		}
	}
	return stamps, nil
}

func stamped(path string, info fs.FileInfo) (stamp, error) {
	system, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return stamp{}, fmt.Errorf("%s is no regular file", path)
	}
	return stamp{path, system.Ino, info.Size(), info.ModTime()}, nil
}

func (s stamp) there() bool { return s.inode > 0 }

// holds reports that what was read of a file then is in it still. Kea only appends to its files: who has it do so all the time
// keeps nobody else from being read.
func (s stamp) holds(source settings.Source, after stamp) bool {
	if source == settings.Kea {
		return after.inode == s.inode && after.size >= s.size
	}
	return after == s
}

// filesOf are the files of a source, all that may be there.
func filesOf(source settings.Source, path string) []string {
	if source == settings.Kea {
		return []string{path + keaCleaned, path + keaPast, path + keaBusy, path}
	}
	return []string{path}
}

// needed are those of the files that are there and count, in the order in which they do.
func needed(source settings.Source, stamps []stamp) (list []stamp, err error) {
	last := stamps[len(stamps)-1]
	if !last.there() {
		return nil, fmt.Errorf("%s is not there", last.path)
	}
	total, cleaned := int64(0), source == settings.Kea && stamps[0].there()
	for i, s := range stamps {
		if superseded := cleaned && 0 < i && i < len(stamps)-1; s.there() && !superseded {
			list = append(list, s)
			total += s.size
		}
	}
	if total > mostOctets {
		return nil, fmt.Errorf("%s has more than %d octets", last.path, mostOctets)
	}
	return list, nil
}

// readFiles reads all that the files of a source say, as they stood at one time. With errMoving the contents are what was read, some
// of it perhaps older than the rest, or torn.
func readFiles(source settings.Source, path string) (c contents, stamps []stamp, err error) {
	paths := filesOf(source, path)
	if stamps, err = stampOf(paths); err != nil {
		return c, stamps, err
	}
	list, err := needed(source, stamps)
	if err != nil {
		return c, stamps, err
	}
	r := newReader(source)
	for _, s := range list {
		if err := r.file(s); err != nil {
			return c, stamps, err
		}
	}
	after, err := stampOf(paths)
	if err != nil {
		return c, stamps, err
	}
	for i := range after {
		if !stamps[i].holds(source, after[i]) {
			return r.contents, after, errMoving
		}
	}
	return r.contents, stamps, nil
}

// both is what two readings say the same; without contents where one of them says nothing at all.
func both(x, y contents) (c contents) {
	if x.at == nil || y.at == nil {
		return c
	}
	c.at, c.partly = map[netip.Addr]int{}, true
	for _, l := range y.leases {
		if was := x.of(l.Address); was != nil && *was == l {
			c.at[l.Address] = len(c.leases)
			c.leases = append(c.leases, l)
		}
	}
	return c
}

// reader gathers the leases of files. The last line of an address counts.
type reader struct {
	contents
	source settings.Source
	most   int
	header keaHeader
}

func newReader(source settings.Source) *reader {
	r := &reader{source: source, most: mostLeases, contents: contents{at: map[netip.Addr]int{}}}
	if source == settings.Listed {
		r.most = settings.MostListed
	}
	return r
}

// file reads what was there when a file was looked at. It waits for no pipe that has taken its place since.
func (r *reader) file(was stamp) error {
	file, err := os.OpenFile(was.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return errMoving
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read: nothing can be lost
	info, err := file.Stat()
	if err != nil {
		return err
	}
	opened, err := stamped(was.path, info)
	if err != nil {
		return err
	}
	if opened.inode != was.inode {
		return errMoving
	}
	if err := r.read(io.LimitReader(file, was.size)); err != nil {
		return fmt.Errorf("read %s: %w", was.path, err)
	}
	return nil
}

// read reads the lines of a file. One that does not end yet is being written.
func (r *reader) read(from io.Reader) error {
	r.header = nil
	lines := bufio.NewReaderSize(from, longestLine)
	for n := 1; ; n++ {
		text, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && (r.source != settings.Listed || len(text) == 0):
			return nil
		case errors.Is(err, io.EOF):
			return r.line(n, string(text))
		case errors.Is(err, bufio.ErrBufferFull):
			r.note(n, errors.New("it is too long"))
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = lines.ReadSlice('\n')
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			continue
		case err != nil:
			return err
		}
		if err := r.line(n, string(text[:len(text)-1])); err != nil {
			return err
		}
	}
}

// line takes a line. An error is of the file as a whole.
func (r *reader) line(n int, text string) error {
	var l Lease
	var err error
	switch r.source {
	case settings.Kea:
		if r.header == nil {
			r.header, err = parseKeaHeader(text)
			return err
		}
		l, err = r.header.parse(text)
	case settings.Dnsmasq:
		l, err = parseDnsmasq(text)
	default:
		l, err = parseListed(text)
	}
	if err != nil {
		r.note(n, err)
		return nil
	}
	if i, known := r.at[l.Address]; known {
		if r.source == settings.Listed {
			r.note(n, fmt.Errorf("%s is listed already", l.Address))
		} else {
			r.leases[i] = l
		}
		return nil
	}
	if len(r.leases) >= r.most {
		r.note(n, fmt.Errorf("%s is one of more than %d addresses", l.Address, r.most))
		return nil
	}
	r.at[l.Address] = len(r.leases)
	r.leases = append(r.leases, l)
	return nil
}

// note notes a line that is wrong.
func (r *reader) note(n int, err error) {
	if errors.Is(err, errNotOurs) {
		return
	}
	if r.bad++; r.wrong == nil {
		r.wrong = fmt.Errorf("line %d: %w", n, err)
	}
}
