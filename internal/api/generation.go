package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Expected is the generation that a change was made for (If-Match, RFC 9110 §13.1.1); 0: whichever is in force.
type Expected uint32

// Request is what comes with a request for a change beside its body: what it expects, and who asks, as "user 0".
type Request struct {
	Expected Expected `json:"-"`
	By       string   `json:"-"`
}

func requestOf(r *http.Request) (Request, error) {
	e, err := expected(r)
	return Request{e, callerOf(r.Context()).String()}, err
}

// Check returns a Stale unless what is expected is in force.
func (e Expected) Check(now uint32) error {
	if e != 0 && uint32(e) != now {
		return Stale{uint32(e), now}
	}
	return nil
}

// tag is a generation as an entity tag.
func tag(generation uint32) string {
	return fmt.Sprintf("%q", strconv.FormatUint(uint64(generation), 10))
}

// expected reads what a request expects.
func expected(r *http.Request) (Expected, error) {
	given := r.Header.Values("If-Match")
	if len(given) == 0 || len(given) == 1 && given[0] == "*" {
		return 0, nil
	}
	text := strings.Join(given, ", ")
	n, err := strconv.ParseUint(strings.Trim(text, `"`), 10, 32)
	if err != nil || n == 0 || tag(uint32(n)) != text {
		return 0, failed(fmt.Errorf("If-Match: %s is no generation: use the ETag of /v1/status", text))
	}
	return Expected(n), nil
}
