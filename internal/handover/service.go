package handover

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/process"
)

// prepareTime is what the next version may take to look at the configuration and to have its programs verified.
const prepareTime = time.Minute

// Program is one that can be executed.
type Program struct {
	Path        string
	Arguments   []string // with its name
	Environment []string
}

// Options are what a Service needs.
type Options struct {
	Next *Program // what takes over; nil: nobody, and the gateway ends
	// Prepare are the arguments by which it says whether it can, and makes ready.
	Prepare  []string
	Sessions func() (int, error) // that are left at work
	Keep     func()              // has the data plane stay at work
	Leave    func()              // has the gateway stop
	Log      *slog.Logger
}

// Service hands over. Call New.
type Service struct {
	options Options
	mutex   sync.Mutex // held while the next version prepares
	wanted  atomic.Bool
}

// New makes one.
func New(o Options) *Service { return &Service{options: o} }

// Wanted reports whether the gateway stops to hand over.
func (s *Service) Wanted() bool { return s.wanted.Load() }

// Handover implements api.Gateway. Nothing stops before the next version has said that it can take over.
func (s *Service) Handover() (api.Handover, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.Wanted() {
		return api.Handover{}, api.Fail(http.StatusConflict, errors.New("the gateway hands over already"))
	}
	sessions, err := s.options.Sessions()
	if err != nil {
		return api.Handover{}, err
	}
	if err := s.prepare(); err != nil {
		s.options.Log.Error("handover refused", "error", err)
		return api.Handover{}, api.Fail(http.StatusConflict, err)
	}
	s.wanted.Store(true)
	s.options.Keep()
	s.options.Leave()
	return api.Handover{Sessions: sessions}, nil
}

func (s *Service) prepare() error {
	next := s.options.Next
	if next == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), prepareTime)
	defer cancel()
	said, err := process.Same(ctx, next.Path, s.options.Prepare, next.Environment)
	if ctx.Err() != nil {
		return fmt.Errorf("the program at %s was not ready to take over within %s", next.Path, prepareTime)
	}
	if why := strings.TrimPrefix(strings.TrimSpace(string(said)), "realmgate: "); err != nil && why != "" {
		err = errors.New(why)
	}
	if err != nil {
		return fmt.Errorf("the program at %s cannot take over, and this one goes on: %w", next.Path, err)
	}
	return nil
}

// Continue executes the next version where the gateway has stopped for it, and only returns where it has not, or cannot.
// stopped is how the gateway ended, and ctx has ended where somebody else has it stop.
func (s *Service) Continue(ctx context.Context, stopped error) error {
	next := s.options.Next
	if stopped != nil || ctx.Err() != nil || !s.Wanted() || next == nil {
		return stopped
	}
	s.options.Log.Info("handing over", "program", next.Path)
	signal.Ignore(syscall.SIGHUP) // one that comes before the next listens is about a configuration that it reads anyway
	return fmt.Errorf("hand over to %s: %w", next.Path, process.Become(next.Path, next.Arguments, next.Environment))
}
