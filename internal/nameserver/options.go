package nameserver

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// Verify says how an asker must prove its address before it gets one lent.
type Verify uint8

// How askers are verified.
const (
	VerifyTCP  Verify = iota // only queries over TCP or with a good cookie allocate
	VerifyNone               // any query allocates
)

// PublicOptions configures a Public server.
type PublicOptions struct {
	Zones             []Zone     // at least one
	Nameserver        model.Name // the name in NS and SOA records
	NameserverAddress netip.Addr // its A record, needed if Nameserver is in a zone
	Serial            uint32     // that zones begin with of which the Journal knows none, such as the time
	Journal           *Journal   // the zones' serials and challenges; nil: they begin anew with the process
	Keys              []Key      // that secondaries and updaters sign with
	Source            netip.Addr // where NOTIFY is sent from; the zero value: the kernel chooses
	Verify            Verify
	StaticRate        int                                        // octets a second by which static answers over UDP may exceed their questions, for each /24; 0: 16384
	CookieSecrets     []CookieSecret                             // of DNS cookies (RFC 7873): the first makes them, all are good; none: one of the process's own
	ClientSubnet      []netip.Prefix                             // resolvers whose EDNS client subnet is believed (RFC 7871)
	Await             func(asker netip.Addr, long time.Duration) // nil, or told whose next questions are to be seen, though others answer for LentNames
	Directory         func() Directory                           // the current snapshot; called once per message
	Allocator         Allocator
	Took              Took                 // nil: nobody hears
	Now               func() model.Instant // times aliases, the detector and rates; nil counts from the start of the server
	Wall              func() time.Time     // times cookies; nil is time.Now
	Logger            *slog.Logger         // nil logs nothing
	Limits            Limits
}

// journalOr replaces nil by a journal that nothing outlives.
func journalOr(journal *Journal) (*Journal, error) {
	if journal != nil {
		return journal, nil
	}
	return NewJournal(nil)
}

// loggerOr replaces nil by a logger that discards.
func loggerOr(logger *slog.Logger) *slog.Logger {
	if logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return logger
}

// clockOr replaces nil by a clock that starts now.
func clockOr(now func() model.Instant) func() model.Instant {
	if now != nil {
		return now
	}
	start := time.Now()
	return func() model.Instant { return model.Instant(time.Since(start)) }
}

// Limits bounds what TCP clients can hold. Zero values mean the defaults.
type Limits struct {
	Connections int           // at a time, default 4096; the longest idle one makes room for a new one
	PerClient   int           // connections of one address, default 512; more are closed at once
	Idle        time.Duration // a connection without a whole message for so long is closed, default 10 s (RFC 7766 §6.2.3)
}

func (l Limits) withDefaults() Limits {
	if l.Connections <= 0 {
		l.Connections = 4096
	}
	if l.PerClient <= 0 {
		l.PerClient = 512
	}
	if l.Idle <= 0 {
		l.Idle = 10 * time.Second
	}
	return l
}
