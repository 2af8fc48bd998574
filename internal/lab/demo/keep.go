package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

var validID = regexp.MustCompile(`^demo-[0-9a-f]{8}$`)

// showAround tells how to look at a demo that stays.
func (s *story) showAround(ctx context.Context) {
	if _, err := s.gatewayStatus(ctx); err != nil {
		s.tell.note("", "The gateway does not run; the rest of the demo stays up.")
	}
	program := s.options.Executable
	inside := func(who person) string { return "ip netns exec " + who.Name() + " " }
	s.tell.print("\n" + s.tell.paint(bold, "Everything stays up. Look around:") + "\n")
	s.tell.note(
		program+" --instance "+s.id+" status",
		program+" --instance "+s.id+" sessions",
		program+" --instance "+s.id+" drops",
		fmt.Sprintf("%ssh -c 'curl http://$(dig +short @%s %s)/'", inside(s.ann), s.resolver.IP, plain(nameOf(s.hosta))),
		inside(s.hosta)+"curl http://"+s.website.IP.String()+"/",
		"less "+filepath.Join(s.directory, "realmgate.log"),
	)
	s.tell.print("\n" + s.tell.paint(bold, "Remove it:") + "\n")
	s.tell.note(program + " demo --remove " + s.id)
	s.tell.see("id", s.id)
	s.tell.see("remove", []string{program, "demo", "--remove", s.id})
}

func (s *story) gatewayStatus(ctx context.Context) (client.Status, error) {
	return client.New(client.Options{Instance: s.id}).Status(ctx)
}

// Remove removes a demo that Keep left up, its processes first. Nothing is put
// back: whatever the gateway changed goes with its network.
func Remove(id string) error {
	if os.Geteuid() != 0 {
		return ErrNotRoot
	}
	if !validID.MatchString(id) {
		return fmt.Errorf("%q is no demo: %s", id, kept())
	}
	if _, err := os.Stat(filepath.Join(runDirectory, id)); err != nil {
		return fmt.Errorf("there is no demo %s: %s", id, kept())
	}
	// A demo that still runs is left alone, with an error.
	if err := netns.Remove("rg-" + id); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := openFiles()
	if err != nil {
		return err
	}
	defer f.close()
	return f.remove(id)
}

// kept says which demos there are to be removed.
func kept() string {
	ids, err := netns.Kept()
	if err != nil {
		return err.Error()
	}
	var demos []string
	for _, id := range ids {
		if id = strings.TrimPrefix(id, "rg-"); validID.MatchString(id) {
			demos = append(demos, id)
		}
	}
	if len(demos) == 0 {
		return "none is left up"
	}
	return "left up: " + strings.Join(demos, ", ")
}
