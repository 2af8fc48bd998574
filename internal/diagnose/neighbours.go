package diagnose

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// mostProbed bounds how many addresses are asked for; of a larger setup it is the first.
	mostProbed = 1024
	// againEvery is how often those that neighbours had are asked for again.
	againEvery = 30 * time.Second
)

// AskOnce asks for the addresses of a setup, at most 256 of them and once each, which takes a second for each hundred. It
// needs CAP_NET_ADMIN.
func AskOnce(ctx context.Context, s *Setup, f *Facts) (map[netip.Addr]Neighbour, error) {
	const most = 256
	inUse := map[netip.Addr]Neighbour{}
	a, err := newAsker()
	if err != nil {
		return nil, err
	}
	defer a.Close()
	err = a.ask(ctx, askedOnce, targetsOf(s, f, most), oursOf(f), func(a netip.Addr, who Neighbour) { inUse[a] = who })
	return inUse, err
}

// Neighbours knows which addresses of a setup neighbours have.
type Neighbours struct {
	mutex   sync.Mutex
	inUse   map[netip.Addr]Neighbour
	targets []target
	cancel  context.CancelFunc // of what asks now
	due     time.Time          // when to ask again for those in use
	failure error

	asking sync.WaitGroup
	done   chan struct{} // closed when who asked last is through
}

// Follow has the addresses of a setup asked for, in the background, where they or the
// links have changed since it was called last, or anew says so. It returns those that are
// known to be in use, and what was wrong when they were asked for last.
func (n *Neighbours) Follow(s *Setup, f *Facts, anew bool, now time.Time) (map[netip.Addr]Neighbour, error) {
	targets := targetsOf(s, f, mostProbed)
	n.mutex.Lock()
	defer n.mutex.Unlock()
	switch {
	case anew || !slices.EqualFunc(n.targets, targets, target.equal):
		n.begin(targets, oursOf(f), targets, now)
	case len(n.inUse) > 0 && now.After(n.due):
		n.begin(targets, oursOf(f), n.only(targets), now)
	}
	return maps.Clone(n.inUse), n.failure
}

// Close ends what asks now, and waits for it.
func (n *Neighbours) Close() {
	n.mutex.Lock()
	if n.cancel != nil {
		n.cancel()
	}
	n.mutex.Unlock()
	n.asking.Wait()
}

// begin asks for some of the targets. What had one of the addresses asked for has it until
// it was asked in vain.
func (n *Neighbours) begin(all []target, ours map[string]bool, some []target, now time.Time) {
	if n.cancel != nil {
		n.cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	some = slices.Clone(some)
	n.targets, n.cancel, n.due = all, cancel, now.Add(againEvery)
	maps.DeleteFunc(n.inUse, func(a netip.Addr, _ Neighbour) bool {
		return !slices.ContainsFunc(all, func(t target) bool { return slices.Contains(t.addresses, a) })
	})
	var asker asker
	if asker, n.failure = newAsker(); n.failure != nil {
		cancel()
		return
	}
	before, done := n.done, make(chan struct{})
	n.done = done
	n.asking.Go(func() {
		defer close(done)
		defer cancel()
		defer asker.Close()
		if before != nil {
			<-before // it takes its entries out of the kernel's table
		}
		heard := map[netip.Addr]bool{}
		err := asker.ask(ctx, askedThrice, some, ours, func(a netip.Addr, who Neighbour) {
			heard[a] = true
			n.note(ctx, a, who)
		})
		n.end(ctx, some, heard, err)
	})
}

// only returns the targets with those of their addresses that are in use.
func (n *Neighbours) only(targets []target) (list []target) {
	for _, t := range targets {
		t.addresses = slices.DeleteFunc(slices.Clone(t.addresses), func(a netip.Addr) bool { _, used := n.inUse[a]; return !used })
		if len(t.addresses) > 0 {
			list = append(list, t)
		}
	}
	return list
}

func (n *Neighbours) note(ctx context.Context, a netip.Addr, who Neighbour) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if ctx.Err() != nil { // others ask by now
		return
	}
	if n.inUse == nil {
		n.inUse = map[netip.Addr]Neighbour{}
	}
	n.inUse[a] = who
}

func (n *Neighbours) end(ctx context.Context, asked []target, heard map[netip.Addr]bool, err error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if ctx.Err() != nil {
		return
	}
	n.failure = err
	for _, t := range asked {
		for _, a := range t.addresses {
			if !heard[a] {
				delete(n.inUse, a)
			}
		}
	}
}

// targetsOf says what to ask for where: addresses that are lent or translated to in the network of a
// public interface that carries packets, which are neither ours nor known to be a router's.
func targetsOf(s *Setup, f *Facts, most int) (targets []target) {
	at := map[string]int{}
	asked := 0
	quiet := *f
	quiet.InUse = nil
	for _, a := range slices.Concat(s.Pool, s.Outbound, s.OneToOne, s.Web) {
		i, ok := f.network(s.Public, a)
		if !ok || !i.Carrier || !i.Ethernet || f.Own[a] || quiet.belongs(a, s.Private) != "" {
			continue
		}
		if asked++; asked > most {
			break
		}
		if _, ok := at[i.Name]; !ok {
			at[i.Name] = len(targets)
			targets = append(targets, target{Interface: i})
		}
		t := &targets[at[i.Name]]
		t.addresses = append(t.addresses, a)
	}
	return targets
}

// oursOf are the link addresses of the setup's interfaces: the data plane answers on each
// of them for what is asked on another of the same network.
func oursOf(f *Facts) map[string]bool {
	ours := map[string]bool{}
	for _, i := range f.Interfaces {
		ours[i.MAC] = true
	}
	return ours
}

func (t target) equal(u target) bool {
	return t.Index == u.Index && t.MAC == u.MAC && slices.Equal(t.addresses, u.addresses)
}
