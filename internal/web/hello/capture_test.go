package hello

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/crypto/cryptobyte"

	"github.com/realmgate/realmgate/internal/model"
)

const site = "www.site.example"

// classic is a hello of one segment; without it crypto/tls adds a post-quantum share.
var classic = []tls.CurveID{tls.X25519}

// hello is the record with the ClientHello that crypto/tls sends.
func hello(tb testing.TB, config *tls.Config) []byte {
	tb.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		_ = tls.Client(near, config).Handshake() // fails when far is closed
		close(done)
	}()
	record := make([]byte, 16<<10)
	n, err := far.Read(record)
	if err != nil || n < 5 || n != 5+int(binary.BigEndian.Uint16(record[3:])) {
		tb.Fatalf("reading a hello: %d octets, %v", n, err)
	}
	_ = far.Close()
	<-done
	return record[:n]
}

func clientOf(name string, curves []tls.CurveID) *tls.Config {
	return &tls.Config{ServerName: name, CurvePreferences: curves, InsecureSkipVerify: true} // no answer comes
}

// cut puts a record's message into records of size octets each.
func cut(record []byte, size int) (stream []byte) {
	for chunk := range slices.Chunk(record[5:], size) {
		stream = append(stream, record[:3]...)
		stream = binary.BigEndian.AppendUint16(stream, uint16(len(chunk)))
		stream = append(stream, chunk...)
	}
	return stream
}

// quicHello is the ClientHello that crypto/tls gives to QUIC.
func quicHello(tb testing.TB, curves []tls.CurveID) []byte {
	tb.Helper()
	config := clientOf(site, curves)
	config.MinVersion, config.NextProtos = tls.VersionTLS13, []string{"h3"}
	client := tls.QUICClient(&tls.QUICConfig{TLSConfig: config})
	client.SetTransportParameters([]byte{1, 2, 0x40, 0x64})
	if err := client.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	for {
		switch event := client.NextEvent(); event.Kind {
		case tls.QUICWriteData:
			return slices.Clone(event.Data)
		case tls.QUICNoEvent:
			tb.Fatal("crypto/tls gave no hello")
		}
	}
}

// body is a ClientHello with these extensions, without any if there are none.
func body(extensions ...[]byte) []byte { return bodyOf(nil, []byte{0x13, 1}, extensions...) }

func bodyOf(session, ciphers []byte, extensions ...[]byte) []byte {
	var b cryptobyte.Builder
	b.AddUint8(messageClientHello)
	b.AddUint24LengthPrefixed(func(b *cryptobyte.Builder) {
		b.AddUint16(0x0303)
		b.AddBytes(make([]byte, 32))
		b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(session) })
		b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(ciphers) })
		b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) { b.AddUint8(0) })
		if len(extensions) > 0 {
			b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(slices.Concat(extensions...)) })
		}
	})
	return b.BytesOrPanic()
}

// inRecord is a message in one record.
func inRecord(message []byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{recordHandshake, 3, 1}, uint16(len(message))), message...)
}

// extension is one with these octets; entry is one of server_name's list.
func extension(kind uint16, octets ...byte) []byte {
	return append(binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, kind), uint16(len(octets))), octets...)
}

func entry(kind byte, name string) []byte {
	return append([]byte{kind, byte(len(name) >> 8), byte(len(name))}, name...)
}

func sni(entries ...[]byte) []byte {
	list := slices.Concat(entries...)
	return extension(extensionServerName, append([]byte{byte(len(list) >> 8), byte(len(list))}, list...)...)
}

func fixture(tb testing.TB, name string) []byte {
	tb.Helper()
	octets, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return octets
}

var sentinels = []error{ErrShort, ErrNoName, ErrMalformed, ErrTooLong, ErrDiffers, ErrTooMany, ErrVersion}

// wellFormed wants either a name that the rest of the gateway takes as it is, or
// one of our errors.
func wellFormed(t interface {
	Helper()
	Errorf(string, ...any)
}, name string, err error) {
	t.Helper()
	if err != nil {
		if name != "" || !slices.ContainsFunc(sentinels, func(s error) bool { return errors.Is(err, s) }) {
			t.Errorf("name %q with error %v", name, err)
		}
		return
	}
	if parsed, err := model.ParseName(name); err != nil || string(parsed) != name+"." {
		t.Errorf("name %q: model.ParseName gives %q, %v", name, parsed, err)
	}
}

// same is whether two answers are alike, as far as a caller may tell.
func same(name string, err error, otherName string, other error) bool {
	return name == otherName && (err == nil) == (other == nil) && (err == nil || err.Error() == other.Error())
}
