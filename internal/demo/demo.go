package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/realmgate/realmgate/internal/lab"
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
	if os.Geteuid() != 0 {
		return ErrNotRoot
	}
	if o.Executable == "" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find the realmgate program: %w", err)
		}
		o.Executable = self
	}
	if o.greeting == nil {
		o.greeting = greeting
	}
	f, err := openFiles()
	if err != nil {
		return err
	}
	defer f.close()
	if o.Keep && !f.ours {
		return errHidden
	}
	s := &story{options: o, tell: newTeller(o), files: f}
	failed := s.run(ctx)
	keep := o.Keep && s.realm != nil && ctx.Err() == nil
	var left error
	if !keep {
		left = s.remove()
	}
	failed = s.tell.conclude(failed, left)
	if keep {
		s.showAround(ctx)
	}
	return s.tell.finish(failed)
}

func greeting(name string) string { return "Hello, this is " + name + "." }

// step is a chapter: what it shows, and how.
type step struct {
	what string
	show func(*story, context.Context) error
}

var steps = []step{
	{"Who is where", (*story).layOut},
	{"ann, outside, reaches hosta by name", (*story).reachByName},
	{"The same address is lent again, at the same time", (*story).lendAgain},
	{"hosta, inside, reaches a website", (*story).reachOut},
	{"A stranger who did not ask is not let in", (*story).refuseStranger},
	{"The gateway's process is killed during a download", (*story).surviveKill},
	{"A clean stop leaves nothing behind", (*story).stopClean},
}

// story is what the steps share.
type story struct {
	options   Options
	tell      *teller
	realm     *lab.Realm
	id        string // demo-RANDOM: of the demo, of the gateway's instance
	directory string
	files     *files
	gateway   *daemon
	before    settings // of the gateway's interfaces, before the gateway ran

	hosta, hostb, ann, bob, stranger, resolver, website person
	annVisit, bobVisit                                  *visit
	annLines, bobLines                                  *stream
}

func (s *story) run(ctx context.Context) error {
	s.tell.head()
	todo := steps
	if s.options.Keep {
		todo = steps[:len(steps)-1]
	}
	for _, step := range todo {
		s.tell.begin(step.what)
		err := step.show(s, ctx)
		if err == nil {
			err = ctx.Err()
		}
		if s.tell.end(err, s.logTail(err)); err != nil {
			if ctx.Err() != nil {
				err = ctx.Err() // whatever else it broke
			}
			return err
		}
	}
	return nil
}

// logTail is what the gateway said last, when something failed.
func (s *story) logTail(err error) []string {
	if err == nil || errors.Is(err, context.Canceled) || s.gateway == nil {
		return nil
	}
	return s.gateway.tail()
}
