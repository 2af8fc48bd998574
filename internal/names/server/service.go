package server

import (
	"errors"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lifecycle"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/rebind"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/store"
)

// Data answers questions itself where it can. *datapath.Datapath is one.
type Data interface {
	// SetLentNames says which names are lent; left is how many found no room.
	SetLentNames(names map[model.Name]datapath.Lent) (left int, err error)
	// Heartbeat says that the name server lives, and the secrets of cookies.
	Heartbeat(secrets [2][16]byte) error
	StopHeartbeat() error
	// Await leaves an asker's next questions to the name server.
	Await(asker netip.Addr, long time.Duration)
}

// Options are what a Service needs.
type Options struct {
	Data      Data
	Store     *store.Store
	Allocator nameserver.Allocator
	Registrar nameserver.Registrar
	Abroad    nameserver.Abroad           // names behind edges
	Directory func() nameserver.Directory // in force
	Serves    func(netip.Addr) bool       // whether the inside resolver answers an asker
	Inside    func(netip.Addr) bool       // whether nobody outside may lead a host to an address
	Overdone  func(netip.Addr)            // hears who asks for too much inside
	Took      func(side, transport string, took time.Duration)
	Now       func() model.Instant
	Log       *slog.Logger
}

// Served is what a configuration has the servers serve.
type Served struct {
	Config *config.Config
	Zones  []nameserver.Zone
	Keys   []nameserver.Key // of secondaries and ACME clients
}

// Service is the name servers. Call New.
type Service struct {
	Options
	public    *nameserver.Public
	private   *nameserver.Private
	journal   *nameserver.Journal
	cookies   atomic.Pointer[cookies]
	current   atomic.Pointer[config.Config] // served
	moved     chan struct{}                 // the public server may have another address
	questions questionLog
}

// New makes the name servers of a configuration, which nobody can ask yet.
func New(o Options, served Served, serial uint32) (s *Service, err error) {
	s = &Service{Options: o, moved: make(chan struct{}, 1), questions: newQuestionLog()}
	s.current.Store(served.Config)
	s.cookies.Store(s.keptCookies(time.Now()))
	if s.journal, err = nameserver.NewJournal(zoneStore{o.Store}); err != nil {
		return nil, err
	}
	if s.public, err = nameserver.NewPublic(s.publicOptions(served, serial)); err != nil {
		return nil, err
	}
	s.private, err = nameserver.NewPrivate(s.privateOptions(served, serial))
	return s, err
}

// Immutable are the keys that only a restart changes, and whether two configurations have the same.
func Immutable(old, c *config.Config) map[string]bool {
	return map[string]bool{
		"dns.public":  old.DNS.Public == c.DNS.Public && old.DNS.Interface == c.DNS.Interface,
		"dns.private": old.DNS.Private == c.DNS.Private,
		"dns.cache":   old.DNS.Cache == c.DNS.Cache,
	}
}

// Start is the change that has the data plane answer for the names of New.
func (s *Service) Start() lifecycle.Change { return lifecycle.Change{Commit: s.tellLentNames} }

// Prepare sees to it that the servers take a configuration. They follow when all has committed, so that they never deny a
// name that is in their zones.
func (s *Service) Prepare(served Served) (lifecycle.Change, error) {
	serial := uint32(time.Now().Unix())
	public, private := s.publicOptions(served, serial), s.privateOptions(served, serial)
	if err := try(public, private); err != nil {
		return lifecycle.Change{}, err
	}
	return lifecycle.Change{Settle: func() {
		s.current.Store(served.Config)
		s.tellMoved()
		if err := errors.Join(s.public.Reconfigure(public), s.private.Reconfigure(private)); err != nil {
			s.Log.Error("name servers not reconfigured", "error", err)
		}
		if err := errors.Join(s.tellLentNames(), s.Beat()); err != nil {
			s.Log.Warn("lent names not updated in the data plane", "error", err)
		}
	}}, nil
}

// Publish has secondaries told where web addresses have moved, without another configuration.
func (s *Service) Publish() { s.public.Publish() }

// try makes servers that are never asked.
func try(public nameserver.PublicOptions, private nameserver.PrivateOptions) error {
	public.Journal, private.Journal = nil, nil // which tell nobody of changes
	_, err := nameserver.NewPublic(public)
	private.CacheSize = 0
	_, privateErr := nameserver.NewPrivate(private)
	return errors.Join(err, privateErr)
}

func (s *Service) publicOptions(served Served, serial uint32) nameserver.PublicOptions {
	c := served.Config
	verify := nameserver.VerifyTCP
	if !c.DNS.Verifies() {
		verify = nameserver.VerifyNone
	}
	return nameserver.PublicOptions{
		Zones: served.Zones, Nameserver: c.Realm.Nameserver, NameserverAddress: c.DNS.Public.Addr(), Serial: serial,
		Journal: s.journal, Keys: served.Keys, Source: c.DNS.Public.Addr(), Verify: verify, ClientSubnet: c.DNS.ClientSubnet,
		CookieSecrets: s.cookies.Load().list(), Await: s.Data.Await, Directory: s.Directory, Allocator: s.Allocator, Took: s.hears(public), Now: s.Now, Logger: s.Log,
	}
}

func (s *Service) privateOptions(served Served, serial uint32) nameserver.PrivateOptions {
	c := served.Config
	var filter *rebind.Filter
	if c.DNS.RebindProtection {
		filter = rebind.New(c.DNS.RebindDomainOK, s.Inside)
	}
	return nameserver.PrivateOptions{
		Zones: served.Zones, Nameserver: c.Realm.Nameserver, NameserverAddress: c.DNS.Private.Addr(), Serial: serial,
		Journal: s.journal, Keys: served.Keys, Registrar: s.Registrar, Abroad: s.Abroad, Directory: s.Directory, Upstream: c.DNS.Upstream, CacheSize: c.DNS.Cache, WaitLimit: c.DNS.WaitLimit,
		Serves: s.Serves, Rebind: filter, Overdone: s.Overdone, Took: s.hears(private),
		Now: s.Now, Logger: s.Log,
	}
}

// UpstreamFailed counts the questions that no upstream name server answered.
func (s *Service) UpstreamFailed() uint64 { return s.private.Statistics().UpstreamFailed }

// Report says what the name servers did. Those that the data plane has told to come by TCP
// count, too.
func (s *Service) Report(status *api.Status) error {
	public, private := s.public.Statistics(), s.private.Statistics()
	told := uint64(0)
	for _, r := range status.Reasons {
		if r.Reason == model.ReasonAnsweredQuestion || r.Reason == model.ReasonAnsweredSlowed {
			told += r.Packets
		}
	}
	d := &status.DNS
	d.Queries = public.QueriesUDP + public.QueriesTCP + private.QueriesUDP + private.QueriesTCP + told
	d.Answered, d.Refused, d.Truncated = public.Allocated, public.Refused+public.Limited+private.Refused, public.Truncated+told
	d.Forwarded, d.UpstreamFailed, d.WaitLimited = private.CacheMisses, private.UpstreamFailed, private.WaitLimited
	d.RebindBlocked, d.OwnRemoved, d.NotInside = private.RebindBlocked, private.OwnRemoved, private.NotInside
	return nil
}
