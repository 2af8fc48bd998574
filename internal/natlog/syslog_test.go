package natlog

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	parser "github.com/leodido/go-syslog/v4"
	"github.com/leodido/go-syslog/v4/octetcounting"
	"github.com/leodido/go-syslog/v4/rfc5424"

	"github.com/realmgate/realmgate/internal/natlog/settings"
)

// everyKind has a record of each kind, of which each has all that there can be in it.
func everyKind() (all []Record) {
	for k := range kinds {
		r := mapping(k, 1, 40000)
		r.Time, r.Name, r.Reason, r.Count = noon.Add(time.Duration(k)*time.Millisecond), `a"\]b`, "drop_no_port", 7
		r.Remote, r.Asker, r.Client = netip.MustParseAddrPort("203.0.113.7:443"), netip.MustParseAddr("203.0.113.53"), netip.MustParseAddr("203.0.113.8")
		all = append(all, r)
	}
	return all
}

// What a parser of others reads is what was written.
func TestSyslogIsRFC5424(t *testing.T) {
	t.Parallel()
	for _, r := range everyKind() {
		text := appendSyslog(nil, &r, "gateway")
		if len(text) > 1180 {
			t.Errorf("%s: %d octets", r.Kind, len(text))
		}
		read, err := rfc5424.NewParser().Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		m := read.(*rfc5424.SyslogMessage)
		if !m.Timestamp.Equal(r.Time) || *m.Hostname != "gateway" || *m.Appname != "realmgate" || *m.MsgID != r.Kind.String() || *m.Facility != 16 || *m.Severity != 6 {
			t.Errorf("%s is read as %+v", text, m)
		}
		got := (*m.StructuredData)[syslogID]
		for _, p := range r.parameters() {
			if got[p[0]] != p[1] {
				t.Errorf("%s: %s is %q, want %q", r.Kind, p[0], got[p[0]], p[1])
			}
		}
	}
}

// Over a connection messages are counted by octets; when the server ends it, a new one goes on.
func TestSyslogIsCountedByOctets(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	out := newSyslog(settings.Sink{Syslog: settings.Collector{Network: "tcp", Host: listener.Addr().String()}})
	defer func() { _ = out.close(t.Context()) }()
	for range 2 {
		accepted := make(chan net.Conn, 1)
		go func() {
			conn, err := listener.Accept()
			if err != nil {
				t.Error(err)
			}
			accepted <- conn
		}()
		if n, err := out.deliver(t.Context(), everyKind()); n != int(kinds) || err != nil {
			t.Fatalf("%d are delivered, %v", n, err)
		}
		conn := <-accepted
		heard := 0
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		octetcounting.NewParser(parser.WithListener(func(r *parser.Result) {
			if r.Error != nil {
				t.Error(r.Error)
			}
			if heard++; heard == int(kinds) {
				_ = conn.Close()
			}
		})).Parse(only{conn, &heard})
		if heard != int(kinds) {
			t.Errorf("%d are heard", heard)
		}
		<-out.gone //nolint:errcheck // that it is over is enough
	}
}

// only reads until all has been heard: then the connection is closed, which is no error.
type only struct {
	net.Conn
	heard *int
}

func (o only) Read(b []byte) (int, error) {
	n, err := o.Conn.Read(b)
	if *o.heard == int(kinds) {
		err = context.Canceled
	}
	return n, err
}

// A record that a datagram has not brought, and of which the machine there says so, is lost, and no other.
func TestRefusedDatagramsAreLost(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(settings.Collector) outlet{
		"syslog": func(c settings.Collector) outlet { return newSyslog(settings.Sink{Syslog: c}) },
		"ipfix":  func(c settings.Collector) outlet { return newIPFIX(settings.Sink{IPFIX: c}, time.Now) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			out := make(settings.Collector{Network: "udp", Host: conn.LocalAddr().String()})
			deliver := func(want int) (lost int) {
				t.Helper()
				if n, err := out.deliver(t.Context(), []Record{mapping(MappingBegun, 1, 40000)}); n != want {
					t.Errorf("%d are done with, %v", n, err)
				}
				return out.(loser).lost()
			}
			if lost := deliver(1); lost != 0 {
				t.Errorf("%d are lost while somebody listens", lost)
			}
			_ = conn.Close()
			if lost := deliver(1); lost != 0 { // nobody knows yet
				t.Errorf("%d are lost", lost)
			}
			if lost := deliver(0); lost != 1 { // it is not this one
				t.Errorf("%d are lost, want the one before", lost)
			}
		})
	}
}
