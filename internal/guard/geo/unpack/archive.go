package unpack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// bounds are of an archive, in bytes where nothing is said.
type bounds struct {
	packed   int64
	unpacked int64 // of all files, also those not asked for
	wanted   int64 // of one that is asked for
	entries  int   // files and folders
}

// What is published stays below half of each.
var usualBounds = bounds{packed: 64 << 20, unpacked: 256 << 20, wanted: 128 << 20, entries: 10_000}

// ErrTooLarge is of an archive that is beyond a bound, packed or unpacked.
var ErrTooLarge = errors.New("the archive is too large")

// Tgz returns files of a gzip-compressed tar archive, as npm's packages are. A name is a
// path without "./" ("package/asn-ipv4.csv"). The archive is read to its end, so that one
// that is damaged or not complete is an error, as is a file that is missing.
func Tgz(r io.Reader, names ...string) (map[string][]byte, error) { return usualBounds.tgz(r, names) }

func (b bounds) tgz(r io.Reader, names []string) (map[string][]byte, error) {
	unzipped, err := gzip.NewReader(&capped{r, b.packed})
	if err != nil {
		return nil, fmt.Errorf("this is no .tgz archive: %w", err)
	}
	return b.files(unzipped, names)
}

// files takes names out of a tar archive.
func (b bounds) files(r io.Reader, names []string) (map[string][]byte, error) {
	in := &capped{r, b.unpacked}
	archive := tar.NewReader(in)
	found := map[string][]byte{}
	for entries := 0; ; entries++ {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the archive: %w", err)
		}
		if entries == b.entries {
			return nil, fmt.Errorf("%w: more than %d files", ErrTooLarge, b.entries)
		}
		name := strings.TrimPrefix(path.Clean(header.Name), "/")
		if !slices.Contains(names, name) {
			continue
		}
		if _, twice := found[name]; twice {
			return nil, fmt.Errorf("%s is in the archive twice", name)
		}
		if found[name], err = b.file(archive, header); err != nil {
			return nil, fmt.Errorf("%s in the archive: %w", name, err)
		}
	}
	// What compresses the archive checks it at its end.
	if _, err := io.Copy(io.Discard, in); err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	for _, name := range names {
		if _, there := found[name]; !there {
			return nil, fmt.Errorf("the archive has no file %s", name)
		}
	}
	return found, nil
}

func (b bounds) file(archive *tar.Reader, header *tar.Header) ([]byte, error) {
	switch {
	case header.Typeflag != tar.TypeReg:
		return nil, errors.New("it is no regular file")
	case header.Size > b.wanted:
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, header.Size, b.wanted)
	}
	var data bytes.Buffer // grows with what comes, whatever the header promises
	_, err := io.Copy(&data, archive)
	return data.Bytes(), err
}

// capped reads up to left bytes, and ends in an error where there are more.
type capped struct {
	r    io.Reader
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		// Only the end may follow.
		var one [1]byte
		n, err := io.ReadFull(c.r, one[:])
		if n > 0 {
			return 0, ErrTooLarge
		}
		return 0, err
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}
