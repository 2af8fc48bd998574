package lists

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"time"

	"github.com/realmgate/realmgate/internal/httperror"
)

// Why an answer is no copy of a list.
var (
	ErrTimeout   = errors.New("the server took too long")
	ErrTruncated = errors.New("the list was cut on its way")
	ErrRedirect  = errors.New("the redirection is refused")
)

// StatusError is an answer that is neither a list nor the word that it has not changed.
type StatusError struct{ Status int }

func (e *StatusError) Error() string {
	return fmt.Sprintf("the server answered %d %s", e.Status, http.StatusText(e.Status))
}

// Limits bound what a server can cost. Each 0 stands for its default.
type Limits struct {
	Timeout time.Duration // of it all, redirections included; 60 s
	Stall   time.Duration // without a byte of the answer; 15 s
	Bytes   int64         // on the wire, and again after each decompression; DefaultBytes
}

func (l Limits) withDefaults() Limits {
	if l.Timeout == 0 {
		l.Timeout = time.Minute
	}
	if l.Stall == 0 {
		l.Stall = 15 * time.Second
	}
	if l.Bytes == 0 {
		l.Bytes = DefaultBytes
	}
	return l
}

// Validators are by what a server knows which copy we have (RFC 9110 8.8), as it said
// them.
type Validators struct {
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"` // Last-Modified
}

// Answer is what a server has to say.
type Answer struct {
	Unchanged  bool // since the copy with the validators that were asked with
	Body       []byte
	Validators Validators // of the body; where unchanged, those to ask with from now on
}

// Fetcher gets lists by HTTP, or from files. It goes through no proxy and keeps neither cookies nor
// connections. Its methods may be called concurrently.
type Fetcher struct {
	limits    Limits
	agent     string
	transport *http.Transport
}

// NewFetcher makes a Fetcher that calls itself agent.
func NewFetcher(agent string, limits Limits) *Fetcher {
	limits = limits.withDefaults()
	return &Fetcher{limits, agent, &http.Transport{
		// A proxy out of the environment of a daemon is seldom meant, and sees the lists.
		Proxy: nil,
		// Less than the whole time, so that an address that is dead leaves some for the next.
		DialContext:            (&net.Dialer{Timeout: limits.Stall}).DialContext,
		ForceAttemptHTTP2:      true, // a dialer of one's own would turn it off
		DisableKeepAlives:      true, // the next question is in an hour
		MaxResponseHeaderBytes: 64 << 10,
	}}
}

// CheckURL says what is wrong with the address of a list.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return fmt.Errorf("%q is no URL", address)
	case u.Scheme == fileScheme && (u.Host != "" || !path.IsAbs(u.Path)):
		return fmt.Errorf("%s: want file:// and an absolute path", u.Redacted())
	case u.Scheme == fileScheme:
		return nil
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%s: want http://, https:// or file://", u.Redacted())
	case u.Hostname() == "":
		return fmt.Errorf("%s has no host", u.Redacted())
	}
	return nil
}

// fileScheme is of lists that are files of this machine (RFC 8089).
const fileScheme = "file"

// Fetch gets a list, or learns that it has not changed since the copy with these
// validators.
func (f *Fetcher) Fetch(ctx context.Context, address string, have Validators) (Answer, error) {
	if err := CheckURL(address); err != nil {
		return Answer{}, err
	}
	if u, err := url.Parse(address); err == nil && u.Scheme == fileScheme {
		return f.file(u.Path, have)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.limits.Timeout, fmt.Errorf("%w: more than %v", ErrTimeout, f.limits.Timeout))
	defer cancel()
	ctx, alive := watch(ctx, f.limits.Stall)
	defer alive.stop()
	answer, err := f.ask(ctx, address, have, alive)
	if err != nil {
		return Answer{}, httperror.Plain(ctx, err)
	}
	return answer, nil
}

func (f *Fetcher) ask(ctx context.Context, address string, have Validators, alive *watchdog) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return Answer{}, err
	}
	request.Header.Set("User-Agent", f.agent)
	// Said here, it is ours to decompress, and to count the bytes before and behind.
	request.Header.Set("Accept-Encoding", "gzip")
	if have.ETag != "" {
		request.Header.Set("If-None-Match", have.ETag)
	}
	if have.Modified != "" {
		request.Header.Set("If-Modified-Since", have.Modified)
	}
	client := http.Client{Transport: f.transport, CheckRedirect: checkRedirect}
	response, err := client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = response.Body.Close() }() // only read: nothing can be lost
	alive.heard()
	said := Validators{response.Header.Get("ETag"), response.Header.Get("Last-Modified")}
	switch {
	case response.StatusCode == http.StatusNotModified && have != Validators{}:
		if said.ETag == "" {
			said.ETag = have.ETag
		}
		if said.Modified == "" {
			said.Modified = have.Modified
		}
		return Answer{Unchanged: true, Validators: said}, nil
	case response.StatusCode != http.StatusOK:
		return Answer{}, &StatusError{response.StatusCode}
	}
	body, err := f.body(response, alive)
	return Answer{Body: body, Validators: said}, err
}

// mostRedirects is how often an address may lead on to another.
const mostRedirects = 5

// checkRedirect lets a server lead on to another, but never to less trust, and does not tell
// that one by which address: its query may be a secret.
func checkRedirect(next *http.Request, so []*http.Request) error {
	next.Header.Del("Referer")
	last := so[len(so)-1].URL
	switch {
	case len(so) > mostRedirects:
		return fmt.Errorf("%w: more than %d one after the other", ErrRedirect, mostRedirects)
	case next.URL.Scheme != "http" && next.URL.Scheme != "https":
		return fmt.Errorf("%w: to an address with %s", ErrRedirect, next.URL.Scheme)
	case last.Scheme == "https" && next.URL.Scheme == "http":
		return fmt.Errorf("%w: from https to http", ErrRedirect)
	}
	return nil
}
