package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	headerTime = 10 * time.Second // for a request's headers to arrive
	idleTime   = time.Minute      // between two requests of one connection
	stopTime   = 2 * time.Second  // for requests in progress when the gateway stops
	maxHeader  = 16 << 10         // bytes
)

// Serve answers on l until ctx ends, and then closes it. access says who may what when a request
// comes. Requests in progress get two seconds to finish; streams end at once. The error is nil after a stop.
func Serve(ctx context.Context, l net.Listener, g Gateway, access func() Access, logger *slog.Logger) error {
	server := &http.Server{
		Handler:           audited(Handler(g, func(ctx context.Context) Role { return access().roleOf(ctx) }), access, logger),
		ConnContext:       withPeer,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	stopped := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		defer close(stopped)
		// Not ctx: it has ended, and the requests get their time after that.
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		if server.Shutdown(grace) != nil {
			_ = server.Close()
		}
	})
	err := server.Serve(&doorkeeper{Listener: l, access: access})
	if !release() {
		<-stopped
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the control API on %s: %w", l.Addr(), err)
	}
	return nil
}
