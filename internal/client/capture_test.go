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
	seen, begun := 0, 0
	err := c.Capture(t.Context(), request, func() { begun++ }, func(p Packet) bool {
		seen++
		return reflect.DeepEqual(p, packet) && seen < 9
	})
	if err != nil || seen != 9 || begun != 1 {
		t.Errorf("%d packets, begun %d times, %v", seen, begun, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	if err := c.Capture(ctx, request, func() {}, func(Packet) bool { stop(); return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancel: %v", err)
	}
	var e *Error
	if err := c.Capture(t.Context(), CaptureRequest{Chain: "a", Snap: 1}, func() { begun++ }, nil); !errors.As(err, &e) ||
		e.Status != http.StatusNotFound || e.Message != "another request" || begun != 1 {
		t.Errorf("what is absent: %v, begun %d times", err, begun)
	}
}
