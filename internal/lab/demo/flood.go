package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/client"
)

const (
	mostEchoes = 100 // a second, of one source
	enough     = 500 // dropped packets show that a flood is cut off
	perPace    = 4   // packets of the flood
)

// Step 7: a function of a chain drops what one source sends too much, and no other's.
func (a abuse) denyFlood(ctx context.Context) error {
	a.tell.note("hosta also answers packets, by UDP. The gateway has a chain for that:",
		fmt.Sprintf("its function dos-denial lets each source send %d packets a second.", mostEchoes), "")
	conn, err := a.echo(ctx, a.stranger)
	if err != nil {
		return err
	}
	defer conn.Close()
	a.tell.say("The stranger asks for %s. hosta answers it.", plain(echoName(a.hosta)))
	f := beginFlood(conn)
	err = a.whileFlooded(ctx)
	f.end()
	if err != nil {
		return err
	}
	denial, err := a.denial(ctx)
	if err != nil {
		return err
	}
	if sent := f.sent.Load(); f.answered.Load()+int64(denial.Dropped) > sent || int64(denial.Dropped) < sent/2 {
		return mismatch{"what became of the stranger's packets", "most are dropped, and those not answered",
			fmt.Sprintf("%d sent, %d answered, %d dropped", sent, f.answered.Load(), denial.Dropped)}
	}
	a.tell.say("Of %d packets of its flood, %d were dropped, and %d answered.", f.sent.Load(), denial.Dropped, f.answered.Load())
	a.tell.see("flood", f.sent.Load())
	a.tell.see("dropped", denial.Dropped)
	a.tell.see("answered", f.answered.Load())
	return a.bothRead(ctx, 2)
}

// whileFlooded has ann reach the service that somebody floods.
func (a abuse) whileFlooded(ctx context.Context) error {
	err := await(ctx, "dos-denial drops the flood", func() (bool, string, error) {
		denial, err := a.denial(ctx)
		return denial.Dropped >= enough, fmt.Sprintf("%d dropped", denial.Dropped), err
	})
	if err != nil {
		return err
	}
	a.tell.say("It floods hosta, and the gateway drops: %d packets so far.", enough)
	conn, err := a.echo(ctx, a.ann)
	if err != nil {
		return err
	}
	a.tell.say("Meanwhile ann asks for that name, too, and hosta answers her.")
	return conn.Close()
}

// denial is what the chain's function has done.
func (a abuse) denial(ctx context.Context) (client.Function, error) {
	chains, err := a.gateway.client.Chains(ctx)
	if err != nil || len(chains) != 1 || len(chains[0].Functions) != 1 {
		return client.Function{}, errors.Join(err, expect("chains", len(chains), 1))
	}
	return chains[0].Functions[0], nil
}

// echo asks for the echo service's name, and has a packet answered there.
func (a abuse) echo(ctx context.Context, who person) (net.Conn, error) {
	got, err := who.ask(ctx, a.resolver.IP, echoName(a.hosta))
	if err != nil {
		return nil, err
	}
	conn, err := who.DialContext(ctx, "udp4", netip.AddrPortFrom(got.address, echoPort).String())
	if err != nil {
		return nil, err
	}
	word, buffer := "hello from "+who.name, make([]byte, 100)
	err = conn.SetDeadline(time.Now().Add(patience))
	if err == nil {
		_, err = conn.Write([]byte(word))
	}
	n := 0
	if err == nil {
		n, err = conn.Read(buffer)
	}
	if err == nil {
		err = expect("what hosta answers to "+who.name, string(buffer[:n]), word)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s sends to %s: %w", who.name, got.address, err), conn.Close())
	}
	return conn, nil
}

// flood sends packets and counts the answers.
type flood struct {
	conn           net.Conn
	sent, answered atomic.Int64
	stop           chan struct{}
	done           chan struct{}
}

func beginFlood(conn net.Conn) *flood {
	f := &flood{conn: conn, stop: make(chan struct{}), done: make(chan struct{})}
	_ = conn.SetReadDeadline(time.Time{}) // end gives one
	go func() {
		buffer := make([]byte, 100)
		for {
			if _, err := conn.Read(buffer); err != nil {
				close(f.done)
				return
			}
			f.answered.Add(1)
		}
	}()
	go func() {
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for {
			select {
			case <-f.stop:
				_ = conn.SetReadDeadline(time.Now()) // it has no more to read
				return
			case <-tick.C:
			}
			for range perPace {
				if _, err := conn.Write([]byte("flood")); err == nil {
					f.sent.Add(1)
				}
			}
		}
	}()
	return f
}

func (f *flood) end() {
	close(f.stop)
	<-f.done
}
