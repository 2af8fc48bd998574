package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// LogCommands are those about the NAT log.
type LogCommands interface {
	// Trace says who had an endpoint outside at a time, or later, but before Until. An error of type Absent says that nothing is logged into files.
	Trace(context.Context, TraceRequest) (Traced, error)
}

// TraceRequest asks who had an endpoint outside at a time.
type TraceRequest struct {
	Address  netip.Addr     // of the gateway's
	Port     uint16         // 0: none was told, as of protocols without ports
	Protocol model.Protocol // model.AnyProtocol: any
	At       time.Time
	Until    time.Time // behind At; Set and SetAt put it where ends what their text names: a second, or a part of one
}

// mostTraced is how long the time of which one asks may last.
const mostTraced = time.Hour

// SetAt is Set for a time that the text names in a form of its own.
func (r *TraceRequest) SetAt(at time.Time, text string) { r.At, r.Until = at, at.Add(lasts(text)) }

// lasts is how long the time is that a text names: a minute, a second or a part of one. The log tells milliseconds apart.
func lasts(text string) time.Duration {
	_, clock, _ := strings.Cut(strings.Replace(text, "T", " ", 1), " ")
	clock, _, _ = strings.Cut(strings.TrimSuffix(clock, "Z"), "+")
	clock, _, _ = strings.Cut(clock, "-")
	if strings.Count(clock, ":") < 2 {
		return time.Minute
	}
	span := time.Second
	if at := strings.IndexAny(clock, ".,"); at >= 0 {
		for range len(clock) - at - 1 {
			span = max(span/10, time.Millisecond)
		}
	}
	return span
}

// Traced is who had it, and what the log does not know of that time.
type Traced struct {
	Users []TraceUser `json:"users"` // the first is first; none: it was nobody's
	// Begins is when what the log has of then begins: where that is later than what was asked for, nobody knows.
	Begins time.Time `json:"begins,omitzero"`
	Lost   uint64    `json:"lost,omitempty"`        // records that were lost about then: an end may be missing
	Gap    bool      `json:"interrupted,omitempty"` // the log was off for a while about then
	More   bool      `json:"more,omitempty"`        // there were more users within that time than are told of
}

// TraceUser is who had an endpoint.
type TraceUser struct {
	Protocol     model.Protocol `json:"protocol"`
	External     netip.AddrPort `json:"external"`
	Private      netip.AddrPort `json:"private"`
	Host         string         `json:"host,omitempty"` // its name, where it has one
	Name         string         `json:"name,omitempty"` // of the service that had the address of the pool
	By           string         `json:"by"`             // mapping or pool
	Since        time.Time      `json:"since"`
	Earlier      bool           `json:"earlier,omitempty"` // it began before that
	Until        time.Time      `json:"until,omitzero"`    // left out: the log of that day has no end
	Synchronised bool           `json:"synchronised"`      // the clock was
}

func traceParameters() []Parameter {
	return []Parameter{
		{Name: "address", Required: true, Short: "The gateway's address outside, IPv4."},
		{Name: "port", Integer: true, Short: "Its port; of ICMP the identifier."},
		{Name: "protocol", Short: "tcp, udp, icmp or another; without it each of these."},
		{Name: "at", Required: true, Short: "When, as RFC 3339 has it, with its zone: 2026-11-30T09:12:03Z is all of that second, 2026-11-30T09:12:03.250Z a thousandth of it."},
		{Name: "until", Short: "Until when instead, at most an hour behind at."},
	}
}

// Query is the request's query.
func (r TraceRequest) Query() url.Values {
	q := url.Values{"address": {r.Address.String()}, "at": {r.At.Format(time.RFC3339Nano)}}
	if !r.Until.IsZero() {
		q.Set("until", r.Until.Format(time.RFC3339Nano))
	}
	if r.Port > 0 {
		q.Set("port", strconv.Itoa(int(r.Port)))
	}
	if r.Protocol != model.AnyProtocol {
		q.Set("protocol", r.Protocol.String())
	}
	return q
}

// Set reads one parameter.
func (r *TraceRequest) Set(name, text string) (err error) {
	switch name {
	case "address":
		if r.Address, err = netip.ParseAddr(text); err != nil || !r.Address.Is4() {
			return errors.New("address: give an IPv4 address of the gateway's")
		}
	case "port":
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return errors.New("port: give a number of 0 to 65535")
		}
		r.Port = uint16(n)
	case "protocol":
		var f Filter
		err := f.Set("protocol", text)
		r.Protocol = f.Protocol
		return err
	case "at":
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return errors.New("at: give a time with its zone, as 2026-11-30T09:12:03Z")
		}
		r.SetAt(at, text)
	case "until":
		if r.Until, err = time.Parse(time.RFC3339Nano, text); err != nil || !r.Until.After(r.At) || r.Until.Sub(r.At) > mostTraced {
			return errors.New("until: give a time with its zone that is behind at, by an hour at most")
		}
	default:
		return fmt.Errorf("unknown parameter %q", name)
	}
	return nil
}

func parseTrace(query url.Values) (TraceRequest, error) {
	var request TraceRequest
	for _, p := range traceParameters() {
		text, err := take(query, p.Name)
		switch {
		case err != nil:
			return request, failed(err)
		case text == "" && p.Required:
			return request, failed(fmt.Errorf("%s is missing", p.Name))
		case text == "":
			continue
		}
		if err := request.Set(p.Name, text); err != nil {
			return request, failed(err)
		}
	}
	return request, wantNone(query)
}

func (h handler) trace(w http.ResponseWriter, r *http.Request, query url.Values) error {
	request, err := parseTrace(query)
	if err != nil {
		return err
	}
	traced, err := h.gateway.Trace(r.Context(), request)
	return changed(w, traced, err)
}
