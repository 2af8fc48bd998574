package lists

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// watchdog ends a context when nothing has come for a while.
type watchdog struct {
	timer *time.Timer
	after time.Duration
	end   context.CancelCauseFunc
}

// watch starts the watchdog of a context.
func watch(ctx context.Context, after time.Duration) (context.Context, *watchdog) {
	ctx, end := context.WithCancelCause(ctx)
	stalled := fmt.Errorf("%w: nothing came for %v", ErrTimeout, after)
	return ctx, &watchdog{time.AfterFunc(after, func() { end(stalled) }), after, end}
}

// heard starts its time anew.
func (w *watchdog) heard() { w.timer.Reset(w.after) }

func (w *watchdog) stop() {
	w.timer.Stop()
	w.end(nil)
}

// watched is a reader whose bytes the watchdog hears of.
type watched struct {
	io.Reader
	alive *watchdog
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.alive.heard()
	}
	return n, err
}

// mostLayers is how often a body may be compressed: a .gz file, by a server that
// compresses what it sends.
const mostLayers = 2

var gzipMagic = []byte{0x1f, 0x8b}

// body reads the body of an answer to its end, and decompresses it.
func (f *Fetcher) body(response *http.Response, alive *watchdog) ([]byte, error) {
	if isHTML(response.Header.Get("Content-Type")) {
		return nil, fmt.Errorf("%w but an HTML page", ErrNoList)
	}
	switch encoding := strings.ToLower(response.Header.Get("Content-Encoding")); encoding {
	case "", "identity", "gzip", "x-gzip":
	default:
		return nil, fmt.Errorf("the server compresses with %q, which nobody asked for", encoding)
	}
	// HTTP/2 and chunks tell an end from a break by themselves.
	if response.ProtoMajor < 2 && response.ContentLength < 0 && len(response.TransferEncoding) == 0 {
		return nil, fmt.Errorf("%w, or not: the server does not say how long it is", ErrTruncated)
	}
	if response.ContentLength > f.limits.Bytes {
		return nil, fmt.Errorf("%w: %d bytes, of at most %d", ErrTooLarge, response.ContentLength, f.limits.Bytes)
	}
	return f.plain(watched{response.Body, alive})
}

// plain reads to the end, and decompresses what is compressed.
func (f *Fetcher) plain(r io.Reader) ([]byte, error) {
	body, err := f.all(r)
	for layer := 0; err == nil && bytes.HasPrefix(body, gzipMagic) && layer < mostLayers; layer++ {
		body, err = f.unzip(body)
	}
	return body, err
}

// all reads to the end, or to the cap.
func (f *Fetcher) all(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(newCapped(r, f.limits.Bytes))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w after %d bytes", ErrTruncated, len(body))
	}
	return body, err
}

func (f *Fetcher) unzip(body []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err == nil {
		body, err = f.all(r)
	}
	if err != nil {
		return nil, fmt.Errorf("decompress the list: %w", err)
	}
	return body, nil
}
