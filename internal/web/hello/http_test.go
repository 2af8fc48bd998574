package hello

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

func TestHTTP(t *testing.T) {
	t.Parallel()
	const get = "GET / HTTP/1.1\r\n"
	long := "X: " + strings.Repeat("y", MaxBytes)
	for _, c := range []struct {
		stream string
		want   any
	}{
		{string(fixture(t, "curl.http")), site},
		{get + "Accept: */*\r\nhOsT: WWW.Site.example.:8080 \t\r\n\r\n", site},
		{"\r\n" + get + "Host:" + site + "\r\n\r\nHost: b.example", site},
		{"get / HTTP/1.0\nHost: www.site.example\n\n", site},
		{get + "Host: www.site.example:\r\n\r\n", site},
		{"GET /100%\xff|<> HTTP/1.1\r\nTransfer-Encoding: other\r\nHost: www.site.example\r\n\r\n", site}, // the host's business
		{"OPTIONS * HTTP/1.1\r\nHost: www.site.example\r\n\r\n", site},
		{"CONNECT b.example:443 HTTP/1.1\r\nHost: www.site.example\r\n\r\n", site},
		{"GET http://www.site.example:80/x?y HTTP/1.1\r\nHost: b.example\r\n\r\n", site},
		{"GET HTTPS://www.Site.example?http://b.example/ HTTP/1.0\r\n\r\n", site},
		{"GET http://www.site.example HTTP/1.1\r\nHost: not a name\r\n\r\n", site},

		{"", ErrShort}, {"G", ErrShort}, {"\r", ErrShort}, {get, ErrShort}, {get + "Host: www.site.example\r\n", ErrShort}, {get + "Host: www.site.example\r\n\r", ErrShort},
		{get + "\r\n", ErrNoName}, {get + "Host:\r\n\r\n", ErrNoName}, {"GET / HTTP/1.0\r\n\r\n", ErrNoName},
		{get + "Host: 192.0.2.1:80\r\n\r\n", ErrNoName}, {get + "Host: [2001:db8::1]:80\r\n\r\n", ErrNoName}, {"GET http://[::1]/ HTTP/1.1\r\n\r\n", ErrNoName},
		{get + long, ErrTooLong}, {"GET /" + long, ErrTooLong},

		{get + "Host: www.site.example\r\nHost: www.site.example\r\n\r\n", ErrMalformed},
		{"GET http://www.site.example/ HTTP/1.1\r\nHost: a.example\r\nhost: a.example\r\n\r\n", ErrMalformed},
		{get + "X: y\r\n Host: www.site.example\r\n\r\n", ErrMalformed},
		{get + " Host: www.site.example\r\n\r\n", ErrMalformed},
		{get + "Host : www.site.example\r\n\r\n", ErrMalformed},
		{get + "Host\r\n\r\n", ErrMalformed}, {get + ": x\r\n\r\n", ErrMalformed},
		{get + "Host: a.example, b.example\r\n\r\n", ErrMalformed},
		{get + "Host: a.example/b\r\n\r\n", ErrMalformed},
		{get + "Host: u@a.example\r\n\r\n", ErrMalformed},
		{get + "Host: a.example:8o\r\n\r\n", ErrMalformed}, {get + "Host: a.example:123456\r\n\r\n", ErrMalformed},
		{get + "Host: [::1\r\n\r\n", ErrMalformed}, {get + "Host: [a.example]\r\n\r\n", ErrMalformed}, {get + "Host: [::1]a\r\n\r\n", ErrMalformed},
		{get + "Host: a.example\rHost: b.example\r\n\r\n", ErrMalformed},
		{get + "X: \x00", ErrMalformed}, {"\x7f", ErrMalformed}, {"SSH-2.0-OpenSSH_10.0\r\n", ErrMalformed},
		{"GET /\r\n", ErrMalformed}, {"GET  / HTTP/1.1\r\n", ErrMalformed}, {"GET / HTTP/1.1 \r\n", ErrMalformed}, {"G(T / HTTP/1.1\r\n", ErrMalformed},
		{"GET / HTTP/2.0\r\n", ErrMalformed}, {"GET / HTTP/1.x\r\n", ErrMalformed}, {"GET a.example HTTP/1.1\r\n", ErrMalformed},
		{"GET http:///x HTTP/1.1\r\n", ErrMalformed}, {"GET ftp://a.example/ HTTP/1.1\r\n", ErrMalformed},
		{"GET http://u@a.example/ HTTP/1.1\r\n\r\n", ErrMalformed},
	} {
		name, err := HTTP([]byte(c.stream))
		if refused, ok := c.want.(error); ok && !errors.Is(err, refused) || !ok && (name != c.want || err != nil) {
			t.Errorf("%.60q: %q, %v; want %v", c.stream, name, err, c.want)
		}
		answersOnce(t, HTTP, []byte(c.stream))
	}
}

// answersOnce wants what is answered to the start of a stream to be what is answered
// to more of it, unless that was ErrShort.
func answersOnce(t *testing.T, read func([]byte) (string, error), stream []byte) {
	t.Helper()
	if len(stream) > 4<<10 { // what is longer is cut by the fuzz tests
		return
	}
	name, err := read(stream)
	for end := range stream {
		if before, errBefore := read(stream[:end]); !errors.Is(errBefore, ErrShort) && !same(before, errBefore, name, err) {
			t.Fatalf("%.60q: %q, %v; its first %d octets: %q, %v", stream, name, err, end, before, errBefore)
		}
	}
}

// frame is one of HTTP/2 on stream 1.
func frame(kind, flags byte, payload string) string {
	return string([]byte{0, byte(len(payload) >> 8), byte(len(payload)), kind, flags, 0, 0, 0, 1}) + payload
}

// fields are a header block, of names and values by turns.
func fields(list ...string) string {
	var b strings.Builder
	encoder := hpack.NewEncoder(&b)
	for i := 0; i < len(list); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: list[i], Value: list[i+1]})
	}
	return b.String()
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	settings := preface + frame(frameSettings, 0, "")
	block := fields(":method", "GET", ":authority", "WWW.site.example:80", "x", "y")
	for _, c := range []struct {
		name, stream string
		want         any
	}{
		{"curl", string(fixture(t, "curl.h2c")), site},
		{"frames before", settings + frame(8, 0, "\x00\x00\xff\xff") + frame(0xee, 0, "grease") + frame(frameHeaders, flagEndHeaders, block), site},
		{"padding and priority", settings + frame(frameHeaders, flagEndHeaders|flagPadded|flagPriority, "\x03\x00\x00\x00\x00\x10"+block+"\x00\x00\x00"), site},
		{"continued", settings + frame(frameHeaders, 0, block[:5]) + frame(frameContinuation, 0, block[5:9]) + frame(frameContinuation, flagEndHeaders, block[9:]), site},
		{"host only", settings + frame(frameHeaders, flagEndHeaders, fields("host", site)), site},
		{"host as well", settings + frame(frameHeaders, flagEndHeaders, fields(":authority", site, "host", site)), site},

		{"the preface alone", preface, ErrShort},
		{"no request", settings, ErrShort},
		{"not all headers", settings + frame(frameHeaders, 0, block), ErrShort},
		{"no authority", settings + frame(frameHeaders, flagEndHeaders, fields(":method", "GET")), ErrNoName},
		{"more than 16 KB", settings + strings.Repeat(frame(0xee, 0, strings.Repeat("x", 4096)), 4), ErrTooLong},

		{"no settings", preface + frame(frameHeaders, flagEndHeaders, block), ErrMalformed},
		{"data", settings + frame(frameData, 0, "x"), ErrMalformed},
		{"continued by another frame", settings + frame(frameHeaders, 0, block) + frame(6, 0, "12345678"), ErrMalformed},
		{"continued without a beginning", settings + frame(frameContinuation, flagEndHeaders, block), ErrMalformed},
		{"more padding than frame", settings + frame(frameHeaders, flagEndHeaders|flagPadded, "\xff"+block), ErrMalformed},
		{"a frame that is too long", settings + "\x00\x40\x01\x01\x04\x00\x00\x00\x01", ErrMalformed},
		{"another host", settings + frame(frameHeaders, flagEndHeaders, fields(":authority", site, "host", "b.example")), ErrMalformed},
		{"two authorities", settings + frame(frameHeaders, flagEndHeaders, fields(":authority", site, ":authority", site)), ErrMalformed},
		{"an index beyond the table", settings + frame(frameHeaders, flagEndHeaders, "\xff\x7f"), ErrMalformed},
		{"a block that ends early", settings + frame(frameHeaders, flagEndHeaders, block[:len(block)-1]), ErrMalformed},
	} {
		name, err := HTTP([]byte(c.stream))
		if refused, ok := c.want.(error); ok && !errors.Is(err, refused) || !ok && (name != c.want || err != nil) {
			t.Errorf("%s: %q, %v; want %v", c.name, name, err, c.want)
		}
		answersOnce(t, HTTP, []byte(c.stream))
	}
}

func TestSniff(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]Kind{"\x16": KindTLS, "GET": KindHTTP, "p": KindHTTP, preface: KindHTTP, "\r\nGET": KindHTTP, "": 0, "\x80": 0, "\x00": 0, " ": 0} {
		if kind, ok := Sniff([]byte(stream)); kind != want || ok != (want != 0) {
			t.Errorf("%q: %v, %v; want %v", stream, kind, ok, want)
		}
	}
	if KindTLS.String() != "TLS" || KindHTTP.String() != "HTTP" || Kind(0).String() != "unknown" {
		t.Error("the kinds' names")
	}
}
