package lifecycle

import "context"

// Service is a part of the daemon. D is a configuration on its way into force, to which each service adds what it makes
// of it for those after it; S is what a status is written to. What is nil the service does not do.
type Service[D, S any] struct {
	Name string
	// Immutable names the keys that a draft changes and only a restart can.
	Immutable func(draft D) []string
	// Open is Prepare of the first draft, for a service that is not made before it, or does something else at the start. Without
	// it Prepare does.
	Open func(draft D) (Change, error)
	// Prepare checks a draft and makes what takes long. Nothing that is in force changes; with an error nothing is left
	// to discard.
	Prepare func(draft D) (Change, error)
	// Run serves until ctx ends. An error ends all services.
	Run func(ctx context.Context) error
	// Report adds what the service has to say to a status.
	Report func(status S) error
	// Stop gives back what the service has, also where a start failed on the way to it.
	Stop func() error
}

// Change is what a service has prepared. What is nil there is nothing to do for.
type Change struct {
	// Commit puts it into force. With an error it has undone what it did.
	Commit func() error
	// Rollback undoes Commit, as that of another service has failed.
	Rollback func() error
	// Settle follows when all have committed: it gives up what was in force before. What goes wrong is for the log.
	Settle func()
	// Discard gives up what was prepared and does not come into force, after a rollback too.
	Discard func()
}
