package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/doctor"
)

// How long a host has to answer, what was dropped to be told, and all of it may take.
const (
	tripConnects = 4 * time.Second // the kernel asks again after 1 s and 3 s
	tripTold     = 300 * time.Millisecond
	tripTakes    = 20 * time.Second
	tripEnds     = 2 * time.Second // to end the session, also then
)

// trip takes a name as somebody outside does, connects to what it stands for, and ends that. What the pool has lent rests
// afterwards as after every client.
type trip struct {
	doctor.RoundTrip
	client   *client.Client
	stranger *stranger
	public   netip.AddrPort // the name server
	port     uint16         // outside
	begun    time.Time
}

// roundTrip is what became of it.
func roundTrip(ctx context.Context, name string, c *config.Config, o client.Options) doctor.RoundTrip {
	ctx, stop := context.WithTimeout(ctx, tripTakes)
	defer stop()
	t := &trip{RoundTrip: doctor.RoundTrip{Name: name}, client: client.New(o), public: c.DNS.Public}
	t.settle(ctx, t.make(ctx, cmp.Or(o.Instance, client.DefaultInstance)))
	return t.RoundTrip
}

// settle says why it was not made. What broke because it was ended says nothing of the name, nor of the host.
func (t *trip) settle(ctx context.Context, err error) {
	switch broke := err != nil || t.NoAddress != "" || t.Failed != ""; {
	case broke && ctx.Err() != nil:
		t.RoundTrip = doctor.RoundTrip{Name: t.Name, Untried: "it was ended, or took longer than " + tripTakes.String()}
	case err != nil:
		t.Untried = err.Error()
	}
}

func (t *trip) make(ctx context.Context, instance string) (err error) {
	if err := t.find(ctx); err != nil {
		return err
	}
	if t.Unknown {
		return nil
	}
	link, hop, err := wayTo(t.Host.Addr())
	if err != nil {
		return err
	}
	if hop.IsValid() && !answersARP(link, hop) {
		t.Silent = hop
		return nil
	}
	if t.stranger, err = newStranger(instance); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.stranger.Close()) }()
	t.From = t.stranger.address
	t.begun = time.Now()
	if t.NoAddress = t.lend(ctx); t.NoAddress != "" {
		return nil
	}
	return t.connect(ctx)
}

// find looks up what the name stands for.
func (t *trip) find(ctx context.Context) error {
	var f client.Filter
	if err := f.Set("host", t.Name); err != nil {
		return err
	}
	hosts, err := t.client.Hosts(ctx, f)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		for _, s := range h.Services {
			if !slices.Contains(s.Names, f.Host) {
				continue
			}
			for _, p := range s.Ports {
				if p.Protocol.String() == "tcp" {
					t.port, t.Host = p.Port, netip.AddrPortFrom(h.Address, p.To)
					return nil
				}
			}
			return fmt.Errorf("%s opens no port of TCP, and nobody knows what answers to others", f.Host)
		}
	}
	t.Unknown = true
	return nil
}

// wayTo is how the kernel reaches an address; the next hop is none where it needs no link address.
func wayTo(a netip.Addr) (link int, hop netip.Addr, err error) {
	routes, err := netlink.RouteGet(a.AsSlice())
	if err != nil || len(routes) == 0 {
		return 0, hop, fmt.Errorf("no route leads to %s: %w", a, err)
	}
	iface, err := netlink.LinkByIndex(routes[0].LinkIndex)
	if err != nil {
		return 0, hop, fmt.Errorf("look at the way to %s: %w", a, err)
	}
	if iface.Attrs().EncapType != "ether" {
		return routes[0].LinkIndex, hop, nil
	}
	if gateway, ok := netip.AddrFromSlice(routes[0].Gw.To4()); ok {
		return routes[0].LinkIndex, gateway, nil
	}
	return routes[0].LinkIndex, a, nil
}

// lend asks for the name's address, over TCP where the answer says so, and returns why there is none.
func (t *trip) lend(ctx context.Context) string {
	at := t.public
	if at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(t.stranger.gateway, at.Port())
	}
	t.Server = at
	var answer *dns.Msg
	for _, network := range []string{"udp", "tcp"} {
		err := t.stranger.do(func() (err error) {
			answer, err = ask(ctx, at, network, question(dns.Fqdn(t.Name), dns.TypeA))
			return err
		})
		switch {
		case isTimeout(err):
			return "no answer within " + answers.String()
		case err != nil:
			return err.Error()
		}
		if !answer.Truncated {
			break
		}
	}
	if answer.Rcode != dns.RcodeSuccess {
		return "it says " + dns.RcodeToString[answer.Rcode]
	}
	for _, r := range answer.Answer {
		if a, ok := r.(*dns.A); ok {
			lent, _ := netip.AddrFromSlice(a.A.To4())
			t.Lent = netip.AddrPortFrom(lent, t.port)
			return ""
		}
	}
	return "it names no address"
}

// connect goes to the host through the data plane, and ends that. What is dropped meanwhile says why it fails.
func (t *trip) connect(ctx context.Context) error {
	var f client.Filter
	if err := f.Set("address", t.From.String()); err != nil {
		return err
	}
	watch, unwatch := context.WithCancel(ctx)
	started, dropped := make(chan error, 1), make(chan client.Drop, 1)
	var watching sync.WaitGroup
	defer func() {
		unwatch()
		watching.Wait()
	}()
	watching.Go(func() {
		err := t.client.Drops(watch, f, func() { started <- nil }, func(d client.Drop) bool {
			dropped <- d
			return false
		})
		started <- err
	})
	if err := <-started; err != nil {
		return fmt.Errorf("watch what is dropped: %w", err)
	}
	trying, stop := context.WithTimeout(ctx, tripConnects)
	defer stop()
	connection, err := t.stranger.dial(trying, "tcp4", t.Lent)
	t.Took = time.Since(t.begun)
	if err == nil {
		_ = connection.(*net.TCPConn).SetLinger(0) //nolint:forcetypeassert // it was asked for
		_ = connection.Close()                     // which resets it
	}
	defer func() { // the gateway may have lost the reset
		ending, stop := context.WithTimeout(context.WithoutCancel(ctx), tripEnds)
		defer stop()
		_, _ = t.client.EndSessions(ending, f)
	}()
	if err == nil {
		return nil
	}
	t.Failed = "no answer within " + tripConnects.String()
	t.Refused = errors.Is(err, unix.ECONNREFUSED)
	if !t.Refused && trying.Err() == nil {
		t.Failed = strings.TrimPrefix(err.Error(), "dial tcp4 ")
	}
	select {
	case d := <-dropped:
		t.Dropped = string(d.Reason)
	case <-time.After(tripTold):
	}
	return nil
}
