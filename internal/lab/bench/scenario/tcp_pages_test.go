package scenario

import "testing"

func TestParsePages(t *testing.T) {
	const good = "Running 1s test\n  10130 requests in 1.02s, 1.70MB read\nRequests/sec:   9965.22\nTransfer/sec:      1.67MB\n"
	const bad = "  Socket errors: connect 1, read 20, write 300, timeout 4000\n  Non-2xx or 3xx responses: 50000\nRequests/sec: 12.00\n"
	for name, c := range map[string]struct {
		out    string
		pages  float64
		failed int
	}{"all came": {good, 9965.22, 0}, "some did not": {bad, 12, 54321}} {
		if pages, failed, err := parsePages([]byte(c.out)); err != nil || pages != c.pages || failed != c.failed {
			t.Errorf("%s: got %g, %d, %v", name, pages, failed, err)
		}
	}
	if _, _, err := parsePages([]byte("unable to connect")); err == nil {
		t.Error("what is no report was taken for one")
	}
}
