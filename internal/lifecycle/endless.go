package lifecycle

import "context"

// Endless is a service that ends with ctx alone.
func Endless(run func(context.Context)) func(context.Context) error {
	return func(ctx context.Context) error {
		run(ctx)
		return nil
	}
}
