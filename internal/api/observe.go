package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// MostFlows is how many flows of before an observer can ask for.
const MostFlows = 4096

// Flow is what became of a flow, in the order of who began it.
type Flow struct {
	Time     time.Time      `json:"time"`
	Event    string         `json:"event"`            // open, new, update, destroy or drop
	Verdict  string         `json:"verdict"`          // forwarded or dropped
	Reason   model.Reason   `json:"reason,omitempty"` // why it was dropped
	Protocol model.Protocol `json:"protocol"`
	From     netip.AddrPort `json:"from"`
	FromName string         `json:"from_name,omitempty"`
	To       netip.AddrPort `json:"to"`
	ToName   string         `json:"to_name,omitempty"`
	Via      netip.AddrPort `json:"via,omitzero"` // the gateway's endpoint between them
	State    string         `json:"state,omitempty"`
	Origin   string         `json:"origin,omitempty"`  // as sessions have it
	Host     string         `json:"host,omitempty"`    // of the private end
	Name     string         `json:"name,omitempty"`    // that was asked for
	Country  string         `json:"country,omitempty"` // of the end outside
	Lost     uint64         `json:"lost,omitempty"`    // flows that came too fast, just before this one
}

// ObserveRequest says which flows are wanted. What is zero lets all through.
type ObserveRequest struct {
	From, To string // an address, a prefix or a name
	Name     string // that was asked for
	Host     string // of the private end
	Reason   model.Reason
	Verdict  string
	Country  string
	Last     int  // of those that are open, the youngest
	Follow   bool // and everything new

	By Caller // who asks

	ends [2]netip.Prefix // From and To, where they are addresses
}

var observeParameters = []Parameter{
	{Name: "from", Short: "Who began it: an address, a prefix or the name of a host."},
	{Name: "to", Short: "Who it was for: the same, or a service's name."},
	{Name: "name", Short: "The service name that was asked for."},
	{Name: "host", Short: "The host inside."},
	{Name: "reason", Short: "Why it was dropped."},
	{Name: "verdict", Short: "forwarded or dropped.", Values: []string{"forwarded", "dropped"}},
	{Name: "country", Short: "Where the end outside is, as DE."},
	{Name: "last", Short: "So many of the flows that are open, the youngest; without follow 20 if it is not given.", Integer: true},
	{Name: "follow", Short: "true: go on with everything new.", Values: []string{"true", "false"}},
}

const observeLast = 20

// Set reads one parameter.
func (r *ObserveRequest) Set(key, text string) (err error) {
	name := func(target *string) error {
		n, err := model.ParsePattern(text)
		*target = n.String()
		return err
	}
	switch key {
	case "from":
		r.From, r.ends[0], err = endOf(text)
	case "to":
		r.To, r.ends[1], err = endOf(text)
	case "name":
		err = name(&r.Name)
	case "host":
		err = name(&r.Host)
	case "reason":
		r.Reason = model.Reason(text)
		if !r.Reason.IsDrop() {
			err = fmt.Errorf("reason: %q is none of a drop", text)
		}
	case "verdict":
		if r.Verdict = text; text != "forwarded" && text != "dropped" {
			err = errors.New("verdict: use forwarded or dropped")
		}
	case "country":
		r.Country = strings.ToUpper(text)
	case "last":
		if r.Last, err = strconv.Atoi(text); err != nil || r.Last < 0 || r.Last > MostFlows {
			err = fmt.Errorf("last: use a number of 0 to %d", MostFlows)
		}
	case "follow":
		if r.Follow, err = strconv.ParseBool(text); err != nil {
			err = errors.New("follow: use true or false")
		}
	default:
		err = fmt.Errorf("unknown parameter %q", key)
	}
	return err
}

// endOf reads an address, a prefix or a name.
func endOf(text string) (string, netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return text, netip.PrefixFrom(a, a.BitLen()), nil
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		return text, p, nil
	}
	n, err := model.ParsePattern(text)
	return n.String(), netip.Prefix{}, err
}

// Query is what is asked with. A negative Last is left to the gateway.
func (r *ObserveRequest) Query() url.Values {
	q := url.Values{}
	for key, value := range map[string]string{"from": r.From, "to": r.To, "name": r.Name, "host": r.Host, "reason": string(r.Reason),
		"verdict": r.Verdict, "country": r.Country} {
		if value != "" {
			q.Set(key, value)
		}
	}
	if r.Last >= 0 {
		q.Set("last", strconv.Itoa(r.Last))
	}
	q.Set("follow", strconv.FormatBool(r.Follow))
	return q
}

// Wants reports whether a flow is let through.
func (r *ObserveRequest) Wants(f *Flow) bool {
	return end(r.From, r.ends[0], f.From.Addr(), f.FromName) && end(r.To, r.ends[1], f.To.Addr(), f.ToName, f.Name) &&
		(r.Name == "" || r.Name == f.Name) && (r.Host == "" || r.Host == f.Host) && (r.Reason == "" || r.Reason == f.Reason) &&
		(r.Verdict == "" || r.Verdict == f.Verdict) && (r.Country == "" || r.Country == f.Country)
}

func end(wanted string, prefix netip.Prefix, address netip.Addr, names ...string) bool {
	switch {
	case wanted == "":
		return true
	case prefix.IsValid():
		return prefix.Contains(address)
	}
	return slices.Contains(names, wanted)
}

func parseObserve(query url.Values) (r ObserveRequest, err error) {
	r.Last = -1
	if err := setEach(query, "parameter", r.Set); err != nil {
		return r, failed(err)
	}
	switch {
	case r.Last < 0 && r.Follow:
		r.Last = 0
	case r.Last < 0:
		r.Last = observeLast
	}
	return r, nil
}

// observe writes flows as they come. It has an end where nothing new is wanted.
func (h handler) observe(w http.ResponseWriter, r *http.Request, query url.Values) error {
	request, err := parseObserve(query)
	if err != nil {
		return err
	}
	request.By = callerOf(r.Context())
	s := newStream(w, r)
	err = h.gateway.Observe(r.Context(), request, func(flows []Flow) bool {
		for i := range flows {
			if !s.add(flows[i]) {
				return false
			}
		}
		return s.flush() // the first time with what is open, if anything: the client learns that it watches
	})
	switch {
	case err == nil && request.Follow, errors.Is(err, context.Canceled):
		err = errStopping
	case err != nil:
		err = fmt.Errorf("observe flows: %w", err)
	}
	return s.finish(err)
}
