package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// ErrNotRoot says in a line what the demo needs. ErrFailed says that something
// was not as it should be; the story has told what.
var (
	ErrNotRoot = errors.New("the demo needs root, for network namespaces and for programs in the kernel: run it with sudo")
	ErrFailed  = errors.New("the demo failed")
	errHidden  = errors.New("--keep does not work inside of ip netns exec or other mounts of its own: nobody could see what it keeps; run it outside")
)

// Options say how to tell the story.
type Options struct {
	Out        io.Writer
	JSON       bool   // one array of Result instead of the text
	Colour     bool   // for a terminal
	Keep       bool   // leave everything up after the story, for Remove
	Executable string // the realmgate program; empty means this one

	// greeting is what a web server's page says; a test may change it.
	greeting func(name string) string
}

// Run tells the story. An error wraps ErrFailed, or says why there is none, as
// ErrNotRoot; a cancelled ctx ends the story as a failure with ctx's error.
// Everything is removed before it returns, unless Keep was asked for.
func Run(ctx context.Context, o Options) error {
	var err error
	if o.Executable, err = ready(o.Executable); err != nil {
		return err
	}
	if o.greeting == nil {
		o.greeting = greeting
	}
	s := &story{stage: stage{options: o, tell: newTeller(o, "machines without a public address, reached by name")}}
	return s.perform(ctx, s.steps(), s.closeVisits, s.showAround)
}

// ready returns the realmgate program, this one where none is named, if a demo may run.
func ready(executable string) (string, error) {
	if os.Geteuid() != 0 {
		return "", ErrNotRoot
	}
	if executable != "" {
		return executable, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the realmgate program: %w", err)
	}
	return self, nil
}

func greeting(name string) string { return "Hello, this is " + name + "." }

func (s *story) steps() []step {
	return []step{
		{"Who is where", s.layOut},
		{"Three web sites of two machines, at one address", inward{s}.browse},
		{"ann, outside, reaches hosta by name", inward{s}.reachByName},
		{"The same address is lent again, at the same time", inward{s}.lendAgain},
		{"hosta, inside, reaches a website", outward{s}.reachOut},
		{"A stranger who did not ask is not let in", outward{s}.refuseStranger},
		{"A flood is cut off, and nobody else", abuse{s}.denyFlood},
		{"A ban ends a download, and keeps who is banned out", abuse{s}.ban},
		{"The gateway's process is killed during a download", restart{s}.surviveKill},
		{"A clean stop leaves nothing behind", s.stopClean},
	}
}

// story is what the steps share.
type story struct {
	stage
	before settings // of the gateway's interfaces, before the gateway ran

	hosta, hostb, ann, bob, stranger, resolver, website person
	annVisit, bobVisit                                  *visit
	annLines, bobLines                                  *stream
	bobCame                                             time.Time
}

// The chapters of the story.
type (
	inward  struct{ *story } // people outside reach hosts inside
	outward struct{ *story } // a host inside reaches out, and a stranger does not reach in
	abuse   struct{ *story } // a flood, and a ban
	restart struct{ *story } // the gateway's process is killed
)
