package client

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"testing"
)

func TestCapture(t *testing.T) {
	c := serve(t, fakeGateway{})
	seen, started := 0, 0
	err := c.Capture(t.Context(), request, func() { started++ }, func(p Packet) bool {
		seen++
		return reflect.DeepEqual(p, packet) && seen < 9
	})
	if err != nil || seen != 9 || started != 1 {
		t.Errorf("%d packets, started %d times, %v", seen, started, err)
	}
	err = c.Capture(t.Context(), CaptureRequest{}, func() { started++ }, func(p Packet) bool {
		seen++
		return reflect.DeepEqual(p, packet) && seen < 18
	})
	if err != nil || seen != 18 || started != 2 {
		t.Errorf("of drops %d packets, started %d times, %v", seen-9, started, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	if err := c.Capture(ctx, request, func() {}, func(Packet) bool { stop(); return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancel: %v", err)
	}
	var e *Error
	if err := c.Capture(t.Context(), CaptureRequest{Chain: "a", Snap: 1}, func() { started++ }, nil); !errors.As(err, &e) ||
		e.Status != http.StatusNotFound || e.Detail != "another request" || started != 2 {
		t.Errorf("what is absent: %v, started %d times", err, started)
	}
}
