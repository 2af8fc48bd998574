package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/nameserver"
)

func fixedNames(d *draft) []string {
	old, c := d.before.document.Config, d.document.Config
	return changed(map[string]bool{
		"dns.public":  old.DNS.Public == c.DNS.Public && old.DNS.Interface == c.DNS.Interface,
		"dns.private": old.DNS.Private == c.DNS.Private,
		"dns.cache":   old.DNS.Cache == c.DNS.Cache,
	})
}

// prepareNames makes the name servers at the start; later it sees to it that they take the next options. They follow when
// all has committed, so that they never deny a name that is in their zones.
func (g *Gateway) prepareNames(d *draft) (change, error) {
	if d.before == nil {
		return change{Commit: g.tellLentNames}, g.makeNames(d.view)
	}
	serial := uint32(time.Now().Unix())
	public, private := g.publicOptions(d.view, serial), g.privateOptions(d.view, serial)
	if err := tryNames(public, private); err != nil {
		return change{}, err
	}
	return change{Settle: func() {
		g.tellMoved()
		if err := errors.Join(g.public.Reconfigure(public), g.private.Reconfigure(private)); err != nil {
			g.log.Error("the name servers answer as before this reload", "error", err)
		}
		if err := errors.Join(g.tellLentNames(), g.beat()); err != nil {
			g.log.Warn("the data plane answers questions as before this reload", "error", err)
		}
	}}, nil
}

func (g *Gateway) makeNames(v *view) (err error) {
	g.cookies.Store(g.keptCookies(time.Now()))
	if g.journal, err = nameserver.NewJournal(zoneStore{g.store}); err != nil {
		return err
	}
	serial := uint32(g.started.Unix())
	if g.public, err = nameserver.NewPublic(g.publicOptions(v, serial)); err != nil {
		return err
	}
	g.private, err = nameserver.NewPrivate(g.privateOptions(v, serial))
	return err
}

// tryNames makes servers that are never asked.
func tryNames(public nameserver.PublicOptions, private nameserver.PrivateOptions) error {
	public.Journal, private.Journal = nil, nil // which tell nobody of changes
	_, err := nameserver.NewPublic(public)
	private.CacheSize = 0
	_, privateErr := nameserver.NewPrivate(private)
	return errors.Join(err, privateErr)
}

// servePublic serves names outside.
func (g *Gateway) servePublic(ctx context.Context) error {
	s := g.sockets
	g.log.Info("serving", "public", s.public, "private", s.privateUDP.LocalAddr(), "socket", g.options.Socket)
	g.announceNames(g.view.Load().config)
	return g.runPublic(ctx, s.publicUDP, s.publicTCP, s.public)
}

// servePrivate serves names inside.
func (g *Gateway) servePrivate(ctx context.Context) error {
	return g.private.Serve(ctx, g.sockets.privateUDP, g.sockets.privateTCP)
}

// reportNames says what the name servers did, and who asks too much. Those that the data plane has told to come by TCP
// count, too.
func (g *Gateway) reportNames(s *api.Status) error {
	public, private := g.public.Statistics(), g.private.Statistics()
	told := uint64(0)
	for _, r := range s.Reasons {
		if r.Reason == "answered_question" || r.Reason == "answered_slowed" {
			told += r.Packets
		}
	}
	d := &s.DNS
	d.Queries = public.QueriesUDP + public.QueriesTCP + private.QueriesUDP + private.QueriesTCP + told
	d.Answered, d.Refused, d.Truncated = public.Allocated, public.Refused+public.Limited+private.Refused, public.Truncated+told
	d.Forwarded, d.UpstreamFailed, d.WaitLimited = private.CacheMisses, private.UpstreamFailed, private.WaitLimited
	d.RebindBlocked, d.OwnRemoved, d.NotInside = private.RebindBlocked, private.OwnRemoved, private.NotInside
	s.Remedies = append(s.Remedies, g.questioners(datapath.Now())...)
	return nil
}
