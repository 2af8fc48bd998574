package unpack

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

const (
	arMagic  = "!<arch>\n"
	arHeader = 60 // bytes
)

// Deb returns files of a Debian package by their paths without the first slash
// ("usr/share/tor/geoip"). The package's data may be compressed by xz, as Debian does, by
// zstd, as Ubuntu does, by gzip, or not at all. It is read to its end, so that a package
// that is damaged or not complete is an error, as is a file that is missing.
func Deb(r io.Reader, names ...string) (map[string][]byte, error) { return usualBounds.deb(r, names) }

func (b bounds) deb(r io.Reader, names []string) (map[string][]byte, error) {
	name, data, err := debData(&capped{r, b.packed})
	if err != nil {
		return nil, fmt.Errorf("this is no Debian package: %w", err)
	}
	in := io.Reader(bytes.NewReader(data))
	switch strings.TrimPrefix(name, "data.tar") {
	case "":
	case ".gz":
		if in, err = gzip.NewReader(in); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	case ".xz":
		if err := checkXZ(data); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		// A package is one stream; checkXZ has looked at no other.
		if in, err = (xz.ReaderConfig{SingleStream: true}).NewReader(in); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	case ".zst":
		decoder, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(mostWindow))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		defer decoder.Close()
		in = decoder
	default:
		return nil, fmt.Errorf("%s is compressed in an unknown way: want xz, zstd, gzip or none", name)
	}
	return b.files(in, names)
}

// debData returns the member of a package that has its files. The format is deb(5), within
// an ar archive.
func debData(r io.Reader) (name string, data []byte, err error) {
	magic := make([]byte, len(arMagic))
	if _, err := io.ReadFull(r, magic); err != nil || string(magic) != arMagic {
		return "", nil, errors.Join(errors.New("it is no ar archive"), err)
	}
	for first := true; ; first = false {
		name, data, err := member(r)
		switch {
		case errors.Is(err, io.EOF):
			return "", nil, errors.New("it has no data.tar")
		case err != nil:
			return "", nil, err
		case first && (name != "debian-binary" || !bytes.HasPrefix(data, []byte("2."))):
			return "", nil, errors.New("it does not begin with debian-binary 2.0")
		case strings.HasPrefix(name, "data.tar"):
			return name, data, nil
		}
	}
}

// member reads the next member of an ar archive; io.EOF after the last.
func member(r io.Reader) (name string, data []byte, err error) {
	var header [arHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return "", nil, err
	}
	size, err := strconv.ParseInt(strings.TrimRight(string(header[48:58]), " "), 10, 64)
	if err != nil || size < 0 || string(header[58:]) != "`\n" {
		return "", nil, errors.New("a header in the ar archive is damaged")
	}
	var got bytes.Buffer // grows with what comes, whatever the header promises
	if n, err := io.Copy(&got, io.LimitReader(r, size)); err != nil {
		return "", nil, err
	} else if n < size {
		return "", nil, io.ErrUnexpectedEOF
	}
	// A byte fills odd members up; the last may lack it.
	if size%2 == 1 {
		var fill [1]byte
		if _, err := io.ReadFull(r, fill[:]); err != nil && !errors.Is(err, io.EOF) {
			return "", nil, err
		}
	}
	return strings.TrimSuffix(strings.TrimRight(string(header[:16]), " "), "/"), got.Bytes(), nil
}
