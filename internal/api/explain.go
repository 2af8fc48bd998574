package api

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
)

// ExplainRequest says which flow to explain. Without ToName and ToAddress it is every
// service that a flow from outside may ask for.
type ExplainRequest struct {
	Address   netip.Addr // who begins the flow
	ToName    model.Name
	ToAddress netip.Addr
	Says      model.Name     // what the connection names at a web address: its SNI or Host
	Protocol  model.Protocol // model.AnyProtocol: the service's; where Says is given, tcp
	Port      uint16         // 0: the service's; where Says is given, 443
	Direction model.Direction
}

// Explanation is what would decide about a new flow, and what about it.
type Explanation struct {
	From       netip.Addr     `json:"from"`
	To         string         `json:"to,omitempty"`   // as it was asked
	Name       string         `json:"name,omitempty"` // that the connection says, as it was asked
	Protocol   model.Protocol `json:"protocol,omitzero"`
	Port       uint16         `json:"port,omitempty"`
	Direction  string         `json:"direction"` // in or out
	Generation uint32         `json:"generation"`
	Steps      []ExplainStep  `json:"steps"` // in their order, until one decides
	Ending
	// Services are those that it may ask for, where none was named.
	Services []ExplainService `json:"services,omitempty"`
}

// Ending is how a new flow would end.
type Ending struct {
	Passes   bool         `json:"passes"`
	Reason   model.Reason `json:"reason,omitempty"`   // why it is dropped, or not judged
	Function string       `json:"function,omitempty"` // that decides, as chain/function
}

// ExplainStep is one of what is asked about a flow.
type ExplainStep struct {
	Step string `json:"step"`
	Says string `json:"says"`
	Why  string `json:"why"`
}

// ExplainService is a service, and what would become of a flow to it.
type ExplainService struct {
	Name     string         `json:"name"`
	Protocol model.Protocol `json:"protocol"`
	Port     uint16         `json:"port"`
	Ending
}

// explainKeys reads each query parameter.
var explainKeys = map[string]func(*ExplainRequest, string) error{
	"address": func(r *ExplainRequest, s string) (err error) {
		r.Address, err = address(s)
		return err
	},
	"to": func(r *ExplainRequest, s string) (err error) {
		if _, err := netip.ParseAddr(s); err == nil {
			r.ToAddress, err = address(s)
			return err
		}
		r.ToName, err = model.ParseName(s)
		return err
	},
	"name": func(r *ExplainRequest, s string) (err error) {
		r.Says, err = model.ParseName(s)
		return err
	},
	"port": func(r *ExplainRequest, s string) error {
		var f Filter
		err := f.Set("port", s)
		r.Port = f.Port
		return err
	},
	"protocol": func(r *ExplainRequest, s string) (err error) {
		r.Protocol, err = model.ParseProtocol(s)
		if err == nil && r.Protocol == model.AnyProtocol {
			err = errors.New("a flow has one protocol: use tcp, udp or icmp")
		}
		return err
	},
	"direction": func(r *ExplainRequest, s string) error {
		for _, d := range []model.Direction{model.In, model.Out} {
			if s == d.String() {
				r.Direction = d
				return nil
			}
		}
		return fmt.Errorf("unknown direction %q: use in or out", s)
	},
}

func explainParameters() []Parameter {
	return []Parameter{
		{Name: "address", Short: "Who begins the flow.", Required: true},
		{Name: "to", Short: "A name or an address; without it every service that a flow from outside may ask for."},
		{Name: "name", Short: "What the connection names at a web address, its SNI or Host."},
		{Name: "protocol", Short: "Such as tcp, udp or icmp; without it the service's."},
		{Name: "port", Short: "Without it the service's.", Integer: true},
		{Name: "direction", Short: "Of the flow.", Values: []string{model.In.String(), model.Out.String()}},
	}
}

// address reads an address; on which link one is makes no difference.
func address(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return a, fmt.Errorf("%q is not an IP address", s)
	}
	return a.Unmap().WithZone(""), nil
}

// Set reads one part of the request: key is address, to, name, port, protocol or direction.
func (r *ExplainRequest) Set(key, value string) error {
	read, ok := explainKeys[key]
	if !ok {
		return fmt.Errorf("unknown parameter %q: use %s", key, strings.Join(slices.Sorted(maps.Keys(explainKeys)), ", "))
	}
	return read(r, value)
}

// Check says what is wrong with a request, as far as no configuration needs to be known.
func (r *ExplainRequest) Check() error {
	named, addressed := r.ToName != "", r.ToAddress.IsValid()
	switch {
	case !r.Address.IsValid():
		return errors.New("say which address")
	case addressed && r.Address.Is4() != r.ToAddress.Is4():
		return fmt.Errorf("%s and %s are of two families", r.Address, r.ToAddress)
	case named && r.Says != "":
		return errors.New("give --name alone, or with --to a web address: --to a name asks for that name")
	case r.Address.Is6() && (named || r.Says != ""):
		return errors.New("names stand for IPv4: give an IPv6 address, or none")
	case r.Protocol != model.AnyProtocol && !r.Protocol.HasPorts() && r.Port != 0:
		return fmt.Errorf("%s has no ports", r.Protocol)
	case r.Says != "" && r.Protocol != model.AnyProtocol && r.Protocol != model.TCP && r.Protocol != model.UDP:
		return fmt.Errorf("%s says no name: use tcp or udp", r.Protocol)
	case r.Says != "":
		return nil
	case r.Address.Is6() && r.Protocol == model.AnyProtocol && r.Port != 0:
		return errors.New("say which protocol: tcp or udp")
	case r.Address.Is6() && (r.Protocol == model.AnyProtocol || r.Port != 0):
		return nil
	case r.Address.Is6() && r.Protocol.HasPorts():
		return fmt.Errorf("say which port of %s", r.Protocol)
	case r.Address.Is6():
		return nil
	case !named && !addressed && (r.Port != 0 || r.Protocol != model.AnyProtocol):
		return errors.New("say where to: protocol and port are of what the flow goes to")
	case addressed && r.Protocol == model.AnyProtocol:
		return errors.New("say which protocol: tcp, udp or icmp")
	case addressed && r.Protocol.HasPorts() && r.Port == 0:
		return fmt.Errorf("say which port of %s", r.Protocol)
	}
	return nil
}

// ParseExplain reads the query of a request. An unknown or a repeated parameter is an
// error.
func ParseExplain(query url.Values) (r ExplainRequest, err error) {
	if err := setEach(query, "parameter", r.Set); err != nil {
		return r, err
	}
	return r, r.Check()
}

// Query returns what ParseExplain reads.
func (r *ExplainRequest) Query() url.Values {
	query := url.Values{"address": {r.Address.String()}}
	if r.ToName != "" {
		query.Set("to", r.ToName.String())
	}
	if r.ToAddress.IsValid() {
		query.Set("to", r.ToAddress.String())
	}
	if r.Says != "" {
		query.Set("name", r.Says.String())
	}
	if r.Port != 0 {
		query.Set("port", strconv.Itoa(int(r.Port)))
	}
	if r.Protocol != model.AnyProtocol {
		query.Set("protocol", r.Protocol.String())
	}
	if r.Direction != model.AnyDirection {
		query.Set("direction", r.Direction.String())
	}
	return query
}

// explain blames the request for whatever goes wrong.
func (h handler) explain(w http.ResponseWriter, _ *http.Request, query url.Values) error {
	request, err := ParseExplain(query)
	if err != nil {
		return failed(err)
	}
	explanation, err := h.gateway.Explain(request)
	if err != nil {
		return failed(err)
	}
	explanation.Steps = list(explanation.Steps)
	return reply(w, http.StatusOK, explanation)
}
