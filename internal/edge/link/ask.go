package link

import (
	"context"
	"fmt"

	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

const asksMost = 1024 // under way at one peer

// ask is an open that waits for its answer.
type ask struct {
	open   wire.Open
	frame  []byte
	on     *connection       // where it was sent last
	answer chan wire.Message // one
	failed chan error        // one
}

// Ask sends an open and waits for accept, more or refuse. It dials where there is no link, and goes on over another connection when
// one ends. An ID of 0 is replaced by one that nobody uses. ErrNoLink, with what the dial ended by; ErrTooMany; or the context's error.
func (l *Links) Ask(ctx context.Context, name model.Name, m wire.Open) (wire.Message, error) {
	p := l.peer(name)
	if p == nil {
		return nil, ErrNoLink
	}
	for m.ID == 0 {
		m.ID = l.o.Random()
	}
	frame, err := wire.Append(nil, m)
	if err != nil { // not the link's fault
		return nil, fmt.Errorf("ask %s: %w", name, err)
	}
	a := &ask{open: m, frame: frame, answer: make(chan wire.Message, 1), failed: make(chan error, 1)}
	if err := p.ask(a); err != nil {
		return nil, err
	}
	select {
	case answer := <-a.answer:
		return answer, nil
	case err := <-a.failed:
		return nil, err
	case <-ctx.Done():
		p.mu.Lock()
		waits := p.abandon(a)
		p.mu.Unlock()
		if waits {
			return nil, fmt.Errorf("ask %s: %w", name, ctx.Err())
		}
		select { // it came at the same time
		case answer := <-a.answer:
			return answer, nil
		case err := <-a.failed:
			return nil, err
		}
	}
}

// ask registers an open and sends it, or has the peer dialled.
func (p *peer) ask(a *ask) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch _, twice := p.asks[a.open.ID]; {
	case p.removed:
		return ErrNoLink
	case twice:
		return fmt.Errorf("ask %s: the ID %d is in use", p.name, a.open.ID)
	case len(p.asks) >= asksMost:
		return fmt.Errorf("ask %s: %w", p.name, ErrTooMany)
	case p.link != nil && p.link.queue(a.frame) == nil:
		a.on = p.link
	case !p.wakeLocked() && p.underway == 0:
		return fmt.Errorf("%w: it has no address and has not dialled", ErrNoLink)
	}
	p.asks[a.open.ID] = a
	return nil
}
