package hello

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"
)

// prefix wants the answer to the first octets to be ErrShort or that to all.
func prefix(t *testing.T, read func([]byte) (string, error), stream []byte, at uint16) (string, error) {
	t.Helper()
	name, err := read(stream)
	wellFormed(t, name, err)
	part := stream[:min(int(at), len(stream))]
	if before, errBefore := read(part); !errors.Is(errBefore, ErrShort) && !same(before, errBefore, name, err) {
		// 16 KB without a name end it: a Stream keeps no more.
		if len(part) < MaxBytes || !errors.Is(errBefore, ErrTooLong) {
			t.Errorf("%q, %v; of the first %d octets %q, %v", name, err, len(part), before, errBefore)
		}
	}
	return name, err
}

// octets is a connection that has nothing but these.
type octets struct {
	net.Conn
	rest *bytes.Reader
}

func (o octets) Read(b []byte) (int, error)       { return o.rest.Read(b) }
func (octets) Write(b []byte) (int, error)        { return len(b), nil }
func (octets) Close() error                       { return nil }
func (octets) SetDeadline(time.Time) error        { return nil }
func (o octets) SetReadDeadline(time.Time) error  { return nil }
func (o octets) SetWriteDeadline(time.Time) error { return nil }

var errRead = errors.New("read")

// standardTLS is the name that crypto/tls reads.
func standardTLS(stream []byte) (name string, ok bool) {
	config := &tls.Config{GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
		name, ok = info.ServerName, true
		return nil, errRead
	}}
	_ = tls.Server(octets{rest: bytes.NewReader(stream)}, config).Handshake()
	return name, ok
}

// Where crypto/tls reads a name, too, it is the same; and where it reads a hello
// without one, there is none.
func FuzzTLS(f *testing.F) {
	for _, seed := range [][]byte{
		hello(f, clientOf(site, nil)), hello(f, clientOf(site, classic)), fixture(f, "openssl.tls"), fixture(f, "chromium.tls"), fixture(f, "firefox.tls"),
		cut(hello(f, clientOf(site, classic)), 50), inRecord(body()), inRecord(body(extension(0x0a0a), sni(entry(nameHost, "a.example."), entry(1, "x")))), inRecord(body(sni(entry(nameHost, "192.0.2.1")))),
	} {
		f.Add(seed, uint16(100))
	}
	f.Fuzz(func(t *testing.T, stream []byte, at uint16) {
		name, err := prefix(t, TLS, stream, at)
		if theirs, ok := standardTLS(stream); ok {
			want, errWant := "", ErrNoName
			if theirs != "" {
				want, errWant = canonical([]byte(theirs))
			}
			if err == nil && name != want || errWant == nil && errors.Is(err, ErrNoName) {
				t.Errorf("%q, %v; crypto/tls reads %q: %q, %v", name, err, theirs, want, errWant)
			}
		}
	})
}

// Where net/http reads a request, too, its host is the same.
func FuzzHTTP(f *testing.F) {
	for _, seed := range []string{
		string(fixture(f, "curl.http")), string(fixture(f, "curl.h2c")), "GET http://a.example:80/ HTTP/1.1\r\nHost: b.example\r\n\r\n", "\r\nGET / HTTP/1.0\nhost:[::1]:8\n\n",
		"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nHost: b\r\n\r\n", "GET / HTTP/1.1\r\nX: y\r\n Host: z\r\n\r\n",
		preface + frame(frameSettings, 0, "") + frame(frameHeaders, 0, fields("host", site)[:5]) + frame(frameContinuation, flagEndHeaders, fields("host", site)[5:]),
		preface + frame(frameSettings, 0, "") + frame(frameHeaders, flagEndHeaders|flagPadded|flagPriority, "\x01\x00\x00\x00\x00\x10"+fields(":authority", site)+"\x00"),
	} {
		f.Add([]byte(seed), uint16(30))
	}
	f.Fuzz(func(t *testing.T, stream []byte, at uint16) {
		name, err := prefix(t, HTTP, stream, at)
		if err != nil {
			return
		}
		request, errRequest := http.ReadRequest(bufio.NewReader(bytes.NewReader(bytes.TrimPrefix(stream, []byte("\r\n")))))
		if errRequest != nil || request.Method == "CONNECT" || request.Method == "PRI" {
			return
		}
		if theirs, errTheirs := authority([]byte(request.Host)); errTheirs == nil && theirs != name {
			t.Errorf("%q; net/http reads %q", name, request.Host)
		}
	})
}

// Frames of two packets, protected, and a datagram as it is.
func FuzzInitials(f *testing.F) {
	message := quicHello(f, classic)
	f.Add(crypto(message, 0, 100), crypto(message, 100, len(message)), fixture(f, "chromium-0.quic"), false)
	f.Add(crypto(message, 50, len(message)), append([]byte{frameAck, 1, 2, 0, 3, frameClose, 1, 2, 0}, crypto(message, 0, 60)...), fixture(f, "rfc9369-0.quic"), true)
	f.Add([]byte{frameCrypto, 0xff, 0xff}, crypto(body(), 0, len(body())), fixture(f, "firefox-1.quic"), true)
	f.Fuzz(func(t *testing.T, first, second, datagram []byte, two bool) {
		maker := usual()
		if two {
			maker.version = 0x6b3343cf
		}
		if len(first) > 16<<10 || len(second) > 16<<10 {
			return
		}
		sealed := [][]byte{maker.seal(t, first), maker.seal(t, second)}
		for _, datagrams := range [][][]byte{{datagram, sealed[0]}, {sealed[0], datagram, sealed[1]}, {append(bytes.Clone(sealed[0]), sealed[1]...), datagram}} {
			q := NewInitials()
			name, err := "", ErrShort
			for _, d := range datagrams {
				before := bytes.Clone(d)
				next, errNext := q.Add(d)
				wellFormed(t, next, errNext)
				if !errors.Is(err, ErrShort) && !same(name, err, next, errNext) {
					t.Errorf("%q, %v; before it %q, %v", next, errNext, name, err)
				}
				if name, err = next, errNext; !bytes.Equal(d, before) {
					t.Error("a datagram was changed")
				}
			}
			if len(q.hello.octets) > MaxBytes || q.frames > maxFrames+1 {
				t.Errorf("%d octets, %d frames", len(q.hello.octets), q.frames)
			}
		}
	})
}

// Segments are 4 octets of script each: offset, length and one octet of content.
func FuzzStream(f *testing.F) {
	f.Add([]byte("\x00\x00\x05a\x00\x03\x05a\x00\x08\x02b\x00\x02\x01a"), uint32(1))
	f.Add([]byte("\x3f\xfe\x09a\xff\xfe\x09a\x00\x07\xffa"), uint32(0xfffffffa))
	f.Add([]byte("\x00\x00\x05a\x00\x04\x05b"), uint32(1<<31))
	f.Fuzz(func(t *testing.T, script []byte, first uint32) {
		var offsets []int
		var data [][]byte
		for ; len(script) >= 4 && len(offsets) < 32; script = script[4:] {
			offsets = append(offsets, int(int16(binary.BigEndian.Uint16(script))))
			data = append(data, bytes.Repeat(script[3:4], int(script[2])))
		}
		obeys(t, first, offsets, data)
	})
}
