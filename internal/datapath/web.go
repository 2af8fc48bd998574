package datapath

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/model"
)

// WebPromise is what a web address promises its clients, before it is known which of its hosts they want.
type WebPromise struct {
	MSS        uint16 // octets, RFC 9293 section 3.7.1
	SACK       bool   // RFC 2018
	Timestamps bool   // RFC 7323
}

// LeastWebPromise is kept by any host behind links as long as Ethernet's.
var LeastWebPromise = WebPromise{MSS: 1460}

// put has an address promise it, by which it is one of the web.
func (p WebPromise) put(entry *addressEntry) {
	entry.Mss = p.MSS
	if p.SACK {
		entry.Promises |= uint8(bpfWebPromiseWEB_PROMISES_SACK)
	}
	if p.Timestamps {
		entry.Promises |= uint8(bpfWebPromiseWEB_PROMISES_TIMESTAMPS)
	}
}

func promiseOf(mss uint16, promises uint32) WebPromise {
	return WebPromise{
		MSS:        mss,
		SACK:       promises&uint32(bpfWebPromiseWEB_PROMISES_SACK) != 0,
		Timestamps: promises&uint32(bpfWebPromiseWEB_PROMISES_TIMESTAMPS) != 0,
	}
}

// SetWebPromises says what web addresses promise; one that is not named promises LeastWebPromise.
func (d *webTable) SetWebPromises(promises map[netip.Addr]WebPromise) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.promises = promises
	return d.putAddresses()
}

// promise is that of a web address.
func (d *core) promise(a netip.Addr) WebPromise {
	if p, known := d.promises[a]; known {
		return p
	}
	return LeastWebPromise
}

func putWebPorts(record *bpfSettings, tcp, udp []uint16) error {
	for i, ports := range [2][]uint16{tcp, udp} {
		if len(ports) > MaxWebPorts {
			return fmt.Errorf("%d ports of web services, at most %d", len(ports), MaxWebPorts)
		}
		for n, port := range ports {
			record.WebPort[i][n] = swap(port)
		}
	}
	return nil
}

// WebHeartbeatLasts is how long connections to web addresses are begun without another WebHeartbeat: longer than a daemon
// takes to start again.
const WebHeartbeatLasts = 10 * time.Second

// WebHeartbeat tells the programs that somebody reads names.
func (d *webTable) WebHeartbeat() error {
	return d.putWebState(bpfWebState{Until: uint64(Now().Add(WebHeartbeatLasts))})
}

// StopWebHeartbeat has the programs refuse connections to web addresses from now on.
func (d *webTable) StopWebHeartbeat() error { return d.putWebState(bpfWebState{}) }

func (d *webTable) putWebState(state bpfWebState) error {
	if err := d.objects.WebStates.Put(uint32(0), &state); err != nil {
		return fmt.Errorf("tell the programs who reads names: %w", err)
	}
	return nil
}

// WebAnswer says where a connection goes.
type WebAnswer struct {
	// Begun tells it from others by the same ports: its client's first number, or how the ID begins by which a client of QUIC
	// calls its host (quic_begun, bpf/handshake/connection_id.h).
	Begun  uint32
	Host   netip.AddrPort // private; invalid: nowhere, or without a reason, to the session that stands
	Name   uint32         // the number of the name that it asked for, of which a session keeps 24 bits
	Reason model.Reason   // why it goes nowhere: its frames are dropped for that
}

// AnswerWeb says where a connection goes, by its outside tuple: its first segment becomes the SYN to that host when it
// comes, or is sent again. There is room for MaxWebAnswers, until ForgetWeb.
func (d *webTable) AnswerWeb(flow model.Tuple, answer WebAnswer) error {
	record := bpfWebAnswer{Begun: answer.Begun, Next: answer.Begun + 1, Name: answer.Name & (1<<webNameBits - 1)}
	if answer.Host.IsValid() {
		record.Host, record.Port = networkOrder(answer.Host.Addr()), swap(answer.Host.Port())
	} else {
		record.Reason = d.reasonNumber(answer.Reason)
	}
	if err := d.objects.WebAnswers.Put(webKey(flow), &record); err != nil {
		return fmt.Errorf("answer a connection to a web address: %w", err)
	}
	return nil
}

// ForgetWeb takes the answer back.
func (d *webTable) ForgetWeb(flow model.Tuple) error {
	if err := d.objects.WebAnswers.Delete(webKey(flow)); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("forget a connection to a web address: %w", err)
	}
	return nil
}

// ForgetAllWeb takes back what an earlier daemon has left.
func (d *webTable) ForgetAllWeb() error {
	var key bpfWebKey
	for {
		if err := d.objects.WebAnswers.NextKey(nil, &key); errors.Is(err, ebpf.ErrKeyNotExist) {
			return nil
		} else if err != nil {
			return fmt.Errorf("list connections to web addresses: %w", err)
		}
		if err := d.objects.WebAnswers.Delete(&key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("forget a connection to a web address: %w", err)
		}
	}
}

func webKey(flow model.Tuple) *bpfWebKey {
	return &bpfWebKey{
		Remote: networkOrder(flow.Source.Addr()), RemotePort: swap(flow.Source.Port()),
		Address: networkOrder(flow.Destination.Addr()), Port: swap(flow.Destination.Port()), Protocol: uint8(flow.Protocol),
	}
}

// webName is the number of the name that a session asked for (struct session, holds.web).
func webName(s *bpfSession) uint32 { return s.Holds.Pool.Expected & (1<<webNameBits - 1) }
