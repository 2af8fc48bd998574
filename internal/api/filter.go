package api

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
)

// filterKeys reads each query parameter of a listing.
var filterKeys = map[string]func(*Filter, string) error{
	"address": func(f *Filter, s string) error {
		address, err := netip.ParseAddr(s)
		if err != nil {
			return fmt.Errorf("%q is not an IP address", s)
		}
		f.Address = address.Unmap()
		return nil
	},
	"port": func(f *Filter, s string) error {
		port, err := strconv.ParseUint(s, 10, 16)
		if err != nil || port == 0 {
			return fmt.Errorf("%q is not a port: use 1 to 65535", s)
		}
		f.Port = uint16(port)
		return nil
	},
	"protocol": func(f *Filter, s string) (err error) {
		f.Protocol, err = model.ParseProtocol(s)
		return err
	},
	"host": func(f *Filter, s string) error {
		name, err := model.ParsePattern(s)
		if err != nil {
			return err
		}
		f.Host = name.String()
		return nil
	},
}

func filterParameters() []Parameter {
	return []Parameter{
		{Name: "address", Short: "Any of the entry's addresses."},
		{Name: "host", Short: "The name of a configured host, or of one of its services."},
		{Name: "port", Short: "Any of the entry's ports.", Integer: true},
		{Name: "protocol", Short: "Such as tcp, udp or icmp; any is every one."},
	}
}

// Set reads one criterion: key is address, port, protocol or host. Names may
// lack the final dot and have capital letters.
func (f *Filter) Set(key, value string) error {
	read, ok := filterKeys[key]
	if !ok {
		return fmt.Errorf("unknown filter %q: use %s", key, strings.Join(slices.Sorted(maps.Keys(filterKeys)), ", "))
	}
	return read(f, value)
}

// ParseFilter reads the query of a request for a listing. An unknown or a
// repeated parameter is an error, so that a slip never widens the answer.
func ParseFilter(query url.Values) (Filter, error) {
	var f Filter
	if err := setEach(query, "filter", f.Set); err != nil {
		return Filter{}, err
	}
	return f, nil
}

// setEach gives each parameter of a query to set, in alphabetical order. A repeated one is
// an error, which says what kind it is of.
func setEach(query url.Values, kind string, set func(key, value string) error) error {
	for _, key := range slices.Sorted(maps.Keys(query)) {
		if len(query[key]) != 1 {
			return fmt.Errorf("%s %q is given %d times", kind, key, len(query[key]))
		}
		if err := set(key, query.Get(key)); err != nil {
			return err
		}
	}
	return nil
}

// Query returns what ParseFilter reads.
func (f Filter) Query() url.Values {
	query := make(url.Values)
	if f.Address.IsValid() {
		query.Set("address", f.Address.String())
	}
	if f.Port != 0 {
		query.Set("port", strconv.Itoa(int(f.Port)))
	}
	if f.Protocol != model.AnyProtocol {
		query.Set("protocol", f.Protocol.String())
	}
	if f.Host != "" {
		query.Set("host", f.Host)
	}
	return query
}
