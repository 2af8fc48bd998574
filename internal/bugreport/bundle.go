package bugreport

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	// patience is for all parts; what comes later is left out.
	patience = 6500 * time.Millisecond
	grace    = 200 * time.Millisecond
	// mostPart is what one part may have, in bytes: more is cut in its middle. All of them, not compressed, stay below the
	// bound of the file.
	mostPart  = 512 << 10
	mostParts = 9 << 20

	contents = "CONTENTS.txt"
)

// Part is a file of the bundle.
type Part struct {
	Name  string
	About string // what it has, in a line
	Make  func(context.Context) ([]byte, error)
}

// made is a part that was gathered, or why not.
type made struct {
	Part
	text  []byte
	note  string // what is to be known of it
	taken time.Duration
}

// Clean takes out of a text what must not leave the machine.
type Clean func(text []byte) []byte

// Write gathers all parts and writes them as tar.zst, a list of contents first. The list is returned, too.
func Write(ctx context.Context, w io.Writer, parts []Part, clean Clean, now time.Time) (list string, err error) {
	gathered := gather(ctx, parts)
	left := mostParts
	for n := range gathered {
		m := &gathered[n]
		if m.text = clean(m.text); len(m.text) > min(mostPart, left) {
			m.note = strings.TrimPrefix(m.note+fmt.Sprintf("; cut, of %d bytes", len(m.text)), "; ")
			m.text = middleOut(m.text, min(mostPart, left))
		}
		m.note = string(clean([]byte(m.note)))
		left -= len(m.text)
	}
	list = contentsOf(gathered)
	compressed, err := zstd.NewWriter(w)
	if err != nil {
		return "", fmt.Errorf("compress the report: %w", err)
	}
	archive := tar.NewWriter(compressed)
	put := func(name string, text []byte) {
		header := &tar.Header{Name: "realmgate-bugreport/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: now.Truncate(time.Second)}
		if err = cmp.Or(err, archive.WriteHeader(header)); err == nil {
			_, err = archive.Write(text)
		}
	}
	put(contents, []byte(list))
	for _, m := range gathered {
		if len(m.text) > 0 {
			put(m.Name, m.text)
		}
	}
	if err = cmp.Or(err, archive.Close(), compressed.Close()); err != nil {
		return "", fmt.Errorf("write the report: %w", err)
	}
	return list, nil
}

// gather makes all parts at the same time. What does not end is left to itself, and said.
func gather(ctx context.Context, parts []Part) []made {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	results := make([]chan made, len(parts))
	for n, p := range parts {
		results[n] = make(chan made, 1)
		go func() {
			begun := time.Now()
			text, err := p.Make(ctx)
			m := made{Part: p, text: text, taken: time.Since(begun)}
			if err != nil {
				m.note = strings.ReplaceAll(err.Error(), "\n", "; ")
			}
			results[n] <- m
		}()
	}
	late := make(chan struct{}) // what sees the end of ctx has a moment to say so
	context.AfterFunc(ctx, func() { time.AfterFunc(grace, func() { close(late) }) })
	gathered := make([]made, len(parts))
	for n, p := range parts {
		select {
		case gathered[n] = <-results[n]:
			continue
		case <-late:
		}
		select { // all that is there by now
		case gathered[n] = <-results[n]:
		default:
			gathered[n] = made{Part: p, note: fmt.Sprintf("it did not come within %v", patience), taken: patience}
		}
	}
	return gathered
}

func contentsOf(gathered []made) string {
	var b strings.Builder
	fmt.Fprintf(&b, "What is in this report of Realmgate. Secrets were taken out; look through it before you pass it on.\n\n")
	for _, m := range gathered {
		fmt.Fprintf(&b, "%-22s %8d bytes  %5.1f s  %s", m.Name, len(m.text), m.taken.Seconds(), m.About)
		if m.note != "" {
			fmt.Fprintf(&b, " (%s)", m.note)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// middleOut keeps the beginning and the end of a text, of whole lines.
func middleOut(text []byte, most int) []byte {
	const gap = "\n[…]\n"
	half := max(0, most-len(gap)) / 2
	head, tail := text[:half], text[len(text)-half:]
	head = head[:bytes.LastIndexByte(head, '\n')+1]
	if at := bytes.IndexByte(tail, '\n'); at >= 0 {
		tail = tail[at+1:]
	}
	return slices.Concat(head, []byte(gap[1:]), tail)
}
