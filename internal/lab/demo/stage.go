package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// step is a chapter: what it shows, and how.
type step struct {
	what string
	show func(context.Context) error
}

// stage is where steps are shown: a realm, a gateway in it, and what they leave in file
// systems.
type stage struct {
	options   Options
	tell      *teller
	realm     *netns.Realm
	id        string // demo-RANDOM: of the demo, of the gateway's instance
	directory string
	files     *files
	gateway   *daemon
	second    *daemon // where a story has two
}

// secondInstance is what the instance of the second gateway has behind the demo's ID.
const secondInstance = "-b"

// perform shows the steps and removes everything, or shows around what is to be kept.
// leave ends what the steps left open.
func (s *stage) perform(ctx context.Context, steps []step, leave func(), showAround func(context.Context)) error {
	f, err := openFiles()
	if err != nil {
		return err
	}
	defer f.close()
	if s.options.Keep && !f.ours {
		return errHidden
	}
	s.files = f
	s.tell.head()
	failed := s.play(ctx, steps)
	keep := s.options.Keep && s.realm != nil && ctx.Err() == nil
	var left error
	if !keep {
		leave()
		left = s.remove()
	}
	failed = s.tell.conclude(failed, left)
	if keep {
		showAround(ctx)
	}
	return s.tell.finish(failed)
}

func (s *stage) play(ctx context.Context, steps []step) error {
	if s.options.Keep {
		steps = steps[:len(steps)-1]
	}
	for _, step := range steps {
		s.tell.begin(step.what)
		err := step.show(ctx)
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
func (s *stage) logTail(err error) []string {
	if err == nil || errors.Is(err, context.Canceled) || s.gateway == nil {
		return nil
	}
	lines := s.gateway.tail()
	if s.second != nil {
		lines = append(lines, s.second.tail()...)
	}
	return lines
}

// lay lays the realm, and makes the folder for the gateway's files.
func (s *stage) lay(o netns.Options) error {
	o.Prefix, o.Keep = labPrefix, s.options.Keep
	realm, err := netns.NewRealm(o)
	if err != nil {
		return err
	}
	s.realm, s.id = realm, strings.TrimPrefix(realm.ID(), "rg-")
	s.files.sweep()
	s.directory = filepath.Join(runDirectory, s.id)
	if err := os.MkdirAll(s.directory, 0o700); err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	return nil
}

// daemonAt is the process of a gateway, which has not started. Its files have a name of their own.
func (s *stage) daemonAt(g *netns.Gateway, instance, file string) *daemon {
	return &daemon{
		namespace: g, executable: s.options.Executable, instance: instance,
		config: filepath.Join(s.directory, file+".yaml"), log: filepath.Join(s.directory, file+".log"),
		client: client.New(client.Options{Instance: instance}),
	}
}

// startGateway starts the gateway with a configuration.
func (s *stage) startGateway(ctx context.Context, configuration string) error {
	s.gateway = s.daemonAt(s.realm.Gateway, s.id, "realmgate")
	if err := s.gateway.configure(configuration); err != nil {
		return err
	}
	status, took, err := s.gateway.start(ctx)
	if err != nil {
		return err
	}
	if err := expect("its programs are at its two interfaces", len(status.Interfaces), 2); err != nil {
		return err
	}
	s.tell.say("The gateway runs as process %[2]d. It was ready after %.2[1]f s.", took.Seconds(), status.PID)
	s.tell.see("gateway_ready_seconds", took.Seconds())
	s.tell.see("gateway_pid", status.PID)
	return nil
}

// remove stops everybody and removes everything. It may be called again.
func (s *stage) remove() error {
	if s.realm == nil {
		return nil
	}
	var failed error
	for _, d := range []*daemon{s.gateway, s.second} {
		if d == nil || d.command == nil {
			continue
		}
		select {
		case <-d.ended:
		default:
			failed = errors.Join(failed, d.stop())
		}
	}
	return errors.Join(failed, s.realm.Close(), s.files.remove(s.id))
}

// closeLab removes everything and says so.
func (s *stage) closeLab() error {
	networks := s.namespaces()
	if err := s.remove(); err != nil {
		return err
	}
	if err := expect("networks left of the lab", len(s.namespaces()), 0); err != nil {
		return err
	}
	s.tell.say("The %d small networks of this demo are removed.", len(networks))
	s.tell.see("networks_removed", len(networks))
	return nil
}

// namespaces lists the files that name the lab's networks.
func (s *stage) namespaces() []string {
	paths, _ := filepath.Glob("/run/netns/rg-" + s.id + "-*") // the pattern is a good one
	return paths
}
