package config

import "net/netip"

// OneToOne tells the public address of each host that has one alone, by its private one.
func (c *Config) OneToOne() map[netip.Addr]netip.Addr {
	own := map[netip.Addr]netip.Addr{}
	for _, h := range c.Hosts {
		if h.OneToOne.IsValid() {
			own[h.Address] = h.OneToOne
		}
	}
	return own
}

// OneToOneAddresses lists these public addresses.
func (c *Config) OneToOneAddresses() (list []netip.Addr) {
	for _, h := range c.Hosts {
		if h.OneToOne.IsValid() {
			list = append(list, h.OneToOne)
		}
	}
	return list
}
