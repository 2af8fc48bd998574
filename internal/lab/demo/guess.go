package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/realmgate/realmgate/internal/client"
)

// failures is with how many of them a jail bans an address.
const failures = 5

// Step 4: who guesses passwords is banned by what sshd writes, and nobody whom it names.
func (s *siege) guess(ctx context.Context) error {
	log := filepath.Join(s.directory, "auth.log")
	s.tell.note(fmt.Sprintf("A jail is added: with %d failures in sshd's log an address is banned.", failures),
		"No sshd runs here: the demo writes the lines that it would.", "")
	err := s.add(ctx, fmt.Sprintf("jails: [{name: ssh, file: %s, patterns: [sshd], maxretry: %d, findtime: 10m, bantime: 1h}]\n", log, failures))
	if err != nil {
		return err
	}
	if err := s.watched(ctx, log); err != nil {
		return err
	}
	// As the name of a user it gives what looks like ann's address.
	line := fmt.Sprintf("Invalid user x from %s port 22 from %s port 40022", annLives.address, guesserLives.address)
	for range failures - 1 {
		if err := sshdWrites(log, line); err != nil {
			return err
		}
	}
	err = s.jail(ctx, fmt.Sprintf("the jail has %d failures", failures-1), func(w client.Jail) (bool, error) { return w.Failures == failures-1, nil })
	if err == nil {
		_, err = s.bannedAre(ctx)
	}
	if err != nil {
		return err
	}
	s.tell.say("The guesser fails %d times: the log has so many lines of its own.", failures-1)
	s.tell.note("  "+line, "In place of a user's name it gives ann's address. Nobody is banned.")
	since := time.Now()
	if err := sshdWrites(log, line); err != nil {
		return err
	}
	ban, took, err := s.banned(ctx, s.guesser.person, since)
	if err != nil {
		return err
	}
	s.tell.say("One more, and %.1f s later it is banned: %s", took.Seconds(), ban.Reason)
	s.tell.see("line", line)
	s.tell.see("ban", ban)
	s.tell.see("seconds", took.Seconds())
	return s.shutOut(ctx, &s.guesser, bannedReason)
}

// watched writes harmless lines until one is read: a log is followed from where its end is
// at the first look.
func (s *siege) watched(ctx context.Context, log string) error {
	return s.jail(ctx, "the log is watched", func(w client.Jail) (bool, error) {
		return w.Lines > 0, sshdWrites(log, "Server listening on 0.0.0.0 port 22.")
	})
}

// jail waits until the jail is as it should be.
func (s *siege) jail(ctx context.Context, what string, is func(client.Jail) (bool, error)) error {
	return await(ctx, what, func() (bool, string, error) {
		jails, err := s.gateway.client.Jails(ctx)
		if err != nil || len(jails) != 1 {
			return false, fmt.Sprintf("%d jails", len(jails)), err
		}
		done, err := is(jails[0])
		return done, fmt.Sprintf("%d lines, %d failures %s", jails[0].Lines, jails[0].Failures, jails[0].Error), err
	})
}

// sshdWrites writes a line to a log as syslog does for sshd.
func sshdWrites(log, line string) error {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write a log: %w", err)
	}
	_, err = fmt.Fprintf(file, "%s gw sshd[4711]: %s\n", time.Now().Format(time.Stamp), line)
	return errors.Join(err, file.Close())
}
