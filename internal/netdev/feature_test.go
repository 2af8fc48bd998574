package netdev

import (
	"net"
	"runtime"
	"testing"
)

// The interfaces are looked at each second, for years: a look leaves nothing behind.
func TestLooksLeaveNoGoroutine(t *testing.T) {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	for range 50 {
		if _, known, err := XDPFeatures(lo.Index); err != nil || !known {
			t.Fatalf("known: %t, %v", known, err)
		}
		if _, err := NAPIThreads(lo.Index); err != nil {
			t.Fatal(err)
		}
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, before %d", after, before)
	}
}
