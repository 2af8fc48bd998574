package demo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"

	"github.com/realmgate/realmgate/internal/client"
)

// How far the download is when the gateway is killed, and how far it goes on
// before the next one is started.
const (
	beforeKill  = downloadSize / 5
	withNobody  = downloadSize / 5
	sessionsNow = 3 // ann's, bob's, and the download
)

// Step 9: packets flow without the process that arranged it.
func (r restart) surviveKill(ctx context.Context) error {
	r.tell.note("Programs inside the kernel move the packets.",
		"They do not need the process that put them there.", "")
	v, d, err := r.beginDownload(ctx)
	if err != nil {
		return err
	}
	defer v.close()
	if err := r.kill(ctx, d); err != nil {
		return err
	}
	if err := r.revive(ctx); err != nil {
		return err
	}
	select {
	case <-d.finished:
	default:
		r.tell.say("The download has gone on all the while: %s so far.", size(d.octets.Load()))
	}
	if err := r.completeDownload(ctx, d); err != nil {
		return err
	}
	if err := r.bothRead(ctx, 2); err != nil {
		return err
	}
	r.tell.say("ann and bob are connected still: %d and %d lines read.", r.annLines.lines.Load(), r.bobLines.lines.Load())
	return r.lendAfterwards(ctx)
}

func (s *story) beginDownload(ctx context.Context) (*visit, *download, error) {
	if _, err := s.bob.ask(ctx, s.resolver.IP, nameOf(s.hosta)); err != nil {
		return nil, nil, err
	}
	v, err := s.bob.visit(ctx, netip.AddrPortFrom(s.lent(), webPort))
	if err != nil {
		return nil, nil, err
	}
	d, err := v.download(ctx)
	if err == nil {
		err = d.more(ctx, beforeKill)
	}
	if err != nil {
		v.close()
		return nil, nil, err
	}
	s.tell.say("bob downloads a file from hosta: %s of %s so far.", size(d.octets.Load()), size(downloadSize))
	return v, d, nil
}

func (r restart) kill(ctx context.Context, d *download) error {
	pid := r.gateway.command.Process.Pid
	if err := r.gateway.signal(syscall.SIGKILL); err != nil {
		return err
	}
	if err := r.nobodyAnswers(ctx); err != nil {
		return err
	}
	at := d.octets.Load()
	r.tell.say("Process %d is killed (kill -9). No gateway process runs now.", pid)
	if err := d.more(ctx, withNobody); err != nil {
		return err
	}
	without := d.octets.Load() - at
	if err := r.nobodyAnswers(ctx); err != nil {
		return err
	}
	r.tell.say("Still no process, and %s more have arrived.", size(without))
	r.tell.see("killed_pid", pid)
	r.tell.see("octets_without_process", without)
	return nil
}

func (r restart) nobodyAnswers(ctx context.Context) error {
	if _, err := r.gateway.client.Status(ctx); !errors.Is(err, client.ErrNoGateway) {
		return mismatch{"the control socket after the kill", client.ErrNoGateway.Error(), fmt.Sprint(err)}
	}
	return nil
}

func (r restart) revive(ctx context.Context) error {
	status, took, err := r.gateway.start(ctx)
	if err != nil {
		return err
	}
	if err := expect("the new process took over what the old one left", status.Adopted, true); err != nil {
		return err
	}
	if status.Sessions.Used < sessionsNow {
		return mismatch{"how many sessions it took over", fmt.Sprintf("at least %d", sessionsNow), fmt.Sprint(status.Sessions.Used)}
	}
	r.tell.say("A new process, %d, is started. It is ready after %.2f s.", status.PID, took.Seconds())
	r.tell.say("It has taken over %d sessions.", status.Sessions.Used)
	r.tell.see("adopted_sessions", status.Sessions.Used)
	r.tell.see("new_pid", status.PID)
	r.tell.see("ready_seconds", took.Seconds())
	return nil
}

func (r restart) completeDownload(ctx context.Context, d *download) error {
	limit := time.NewTimer(3 * patience)
	defer limit.Stop()
	select {
	case <-d.finished:
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
		return mismatch{"the download", "complete", size(d.octets.Load()) + " after " + (3 * patience).String()}
	}
	if d.err != nil {
		return fmt.Errorf("the download broke off after %s: %w", size(d.octets.Load()), d.err)
	}
	err := errors.Join(
		expect("octets of the download", d.octets.Load(), downloadSize),
		expect("checksum of the download", d.checksum(), d.promised),
	)
	if err != nil {
		return err
	}
	r.tell.say("The download is complete: %s, every byte as it was sent.", size(d.octets.Load()))
	r.tell.note("  SHA-256 on both sides: " + d.checksum()[:16] + "...")
	r.tell.see("octets", d.octets.Load())
	r.tell.see("sha256", d.checksum())
	return nil
}

// lendAfterwards shows that the new process does what the old one did.
func (r restart) lendAfterwards(ctx context.Context) error {
	got, err := r.ann.ask(ctx, r.resolver.IP, nameOf(r.hostb))
	if err != nil {
		return err
	}
	r.tell.say("ann asks the new process for %s: %s.", plain(nameOf(r.hostb)), got.address)
	v, err := r.call(ctx, r.ann, r.hostb)
	v.close()
	return err
}
