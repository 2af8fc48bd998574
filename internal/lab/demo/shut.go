package demo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/model"
)

// stillReads is how many lines may arrive that were under way when somebody was shut out.
// While that one waits in vain, some 24 are sent to who reads on.
const stillReads = 5

// shutOut sees that nothing more reaches somebody, of what is open nor anew, and that
// the gateway says why; that ann reads on, and who is banned.
func (s *siege) shutOut(ctx context.Context, who *caller, reason model.Reason) error {
	at := who.lines.lines.Load()
	drop, err := s.dropOf(ctx, who.person, func() error { return s.unanswered(ctx, who.person, s.service()) })
	if err == nil {
		err = expect("why a packet of "+who.name+"'s was dropped", drop.Reason, reason)
	}
	if err != nil {
		return err
	}
	if more := who.lines.lines.Load() - at; more > stillReads {
		return mismatch{"the lines that " + who.name + " still reads", fmt.Sprintf("at most %d, which were under way", stillReads), fmt.Sprint(more)}
	}
	s.tell.say("The gateway says why: %s", drop.Reason)
	s.tell.note("The lines on the open connection have ended, too.")
	if err := s.ann.lines.more(ctx, 2); err != nil {
		return err
	}
	s.tell.say("ann reads on.")
	s.tell.see("reason", drop.Reason)
	_, err = s.bannedAre(ctx)
	return err
}

// banned waits until somebody is banned, and returns the ban and what it took since.
func (s *siege) banned(ctx context.Context, who person, since time.Time) (ban client.Ban, took time.Duration, err error) {
	err = await(ctx, who.name+" is banned", func() (bool, string, error) {
		bans, err := s.gateway.client.BanEditor().List(ctx)
		took = time.Since(since)
		i := slices.IndexFunc(bans, func(b client.Ban) bool { return b.Prefix == netip.PrefixFrom(who.IP, who.IP.BitLen()) })
		if i < 0 {
			return false, fmt.Sprintf("banned are %s", prefixes(bans)), err
		}
		ban = bans[i]
		return true, "", err
	})
	s.bans++
	return ban, took, err
}

// bannedAre sees that nobody is banned whom the story does not know to be, and returns who is.
func (s *siege) bannedAre(ctx context.Context) ([]client.Ban, error) {
	bans, err := s.gateway.client.BanEditor().List(ctx)
	if err == nil && len(bans) != s.bans {
		err = mismatch{"who is banned", fmt.Sprintf("%d, and no victim", s.bans), prefixes(bans)}
	}
	return bans, err
}

func prefixes(bans []client.Ban) string {
	list := []string{}
	for _, b := range bans {
		list = append(list, b.Prefix.String())
	}
	return "[" + strings.Join(list, " ") + "]"
}

// protection returns what a function of the protection did.
func (s *siege) protection(ctx context.Context, use string) (client.Function, error) {
	chains, err := s.gateway.client.Chains(ctx)
	if err != nil {
		return client.Function{}, err
	}
	for _, c := range chains {
		for _, f := range c.Functions {
			if c.Name == "protection" && f.Use == use {
				return f, nil
			}
		}
	}
	return client.Function{}, errors.New("the protection has no " + use)
}
