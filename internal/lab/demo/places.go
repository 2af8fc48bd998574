package demo

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/guard/geo"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/model"
)

// settle gives somebody behind the router another address, by which it speaks from then
// on: those of labs are special ones, which are in no country.
func settle(router *netns.Namespace, who person, to netip.Addr) (person, error) {
	prefix := netip.PrefixFrom(to, to.BitLen()).String()
	err := errors.Join(who.Address("eth0", prefix), router.Route(prefix, who.IP.String()))
	if err == nil {
		err = who.Do(func() error { return speakFrom(to) })
	}
	if err != nil {
		return who, fmt.Errorf("settle %s at %s: %w", who.name, to, err)
	}
	who.IP = to
	return who, nil
}

// speakFrom makes an address the source of what is sent by the default route.
func speakFrom(address netip.Addr) error {
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(routes, func(r netlink.Route) bool { return r.Gw != nil })
	if i < 0 {
		return errors.New("there is no default route")
	}
	routes[i].Src = net.IP(address.AsSlice())
	return netlink.RouteReplace(&routes[i])
}

// country is where an address is said to be.
type country struct {
	address netip.Addr
	code    string
}

// writePlaces writes a table of where addresses are, as realmgate geo update does. They are
// in rising order.
func writePlaces(path string, countries []country) (err error) {
	var rows strings.Builder
	for _, c := range countries {
		n := model.AddressNumber(c.address)
		fmt.Fprintf(&rows, "%d,%d,%s\n", n, n, c.code)
	}
	var b geo.Builder
	if err := b.ReadCSV(strings.NewReader(rows.String()), geo.Source{Name: "the demo's countries"}); err != nil {
		return err
	}
	table, err := b.Build()
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the geo table: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return table.Save(file)
}
