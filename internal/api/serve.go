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
	maxStreams = 16               // requests at a time of a connection of HTTP/2
)

// Serve answers on a Unix socket until ctx ends, and then closes it. access says who may what when a request
// comes. Requests in progress get two seconds to finish; streams end at once. The error is nil after a stop.
func Serve(ctx context.Context, l net.Listener, g Gateway, access func() Access, logger *slog.Logger) error {
	server := newServer(ctx, Handler(g, byPeer(access), logger), logger)
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return withPeer(withSocket(ctx, c), c) }
	return serve(ctx, &doorkeeper{Listener: l, access: access}, server)
}

// ServeRemote is Serve on a TCP socket, with TLS or without, for a Handler and all that is before it.
func ServeRemote(ctx context.Context, l net.Listener, h http.Handler, logger *slog.Logger) error {
	return serve(ctx, l, newServer(ctx, h, logger))
}

func newServer(ctx context.Context, h http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       withSocket,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
}

func serve(ctx context.Context, l net.Listener, server *http.Server) error {
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
	err := server.Serve(l)
	if !release() {
		<-stopped
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the control API on %s: %w", l.Addr(), err)
	}
	return nil
}
