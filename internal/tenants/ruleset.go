package tenants

import (
	"net/netip"
)

// chain is one of a firewall's, of any kind of rules.
type chain struct {
	family, table, name string
	legacy              bool // of iptables-legacy
	hook                hook // of a base chain
	drops               bool // its policy
	rules               []rule
	others              map[string]*chain // of its table
}

type hook uint8

const (
	noHook hook = iota
	forward
	postrouting // of NAT
)

// rule is what packets meet that all conditions hold of.
type rule struct {
	conditions []condition
	action     action
	target     string // of a jump
}

type action uint8

const (
	goOn action = iota
	accept
	drop
	translate
	jump // or goto
	leave
)

// flow is a packet of the gateway's that the kernel forwards.
type flow struct {
	in, out string
	source  netip.Addr
}

// answer is whether a condition holds. Of most that rules can ask the gateway's packets may
// be one or the other.
type answer uint8

const (
	no answer = iota
	maybe
	yes
)

type condition func(flow) answer

func perhaps(flow) answer { return maybe }

func is(holds bool) answer {
	if holds {
		return yes
	}
	return no
}

// mostDeep bounds the jumps that are followed.
const mostDeep = 16

// meets walks a packet through the chain, and returns what ends it there; goOn where nothing
// does. certain takes rules whose conditions may not hold as if they did not; else those that
// accept are, and others are as if they did.
func (c *chain) meets(f flow, certain bool, deep int) action {
	for _, r := range c.rules {
		holds := yes
		for _, condition := range r.conditions {
			holds = min(holds, condition(f))
		}
		if holds == no || holds == maybe && (certain || r.action == accept || r.action == leave) {
			continue
		}
		switch r.action {
		case goOn:
		case leave:
			return goOn
		case jump:
			other := c.others[r.target]
			if other == nil || deep == mostDeep {
				continue
			}
			if end := other.meets(f, certain, deep+1); end != goOn {
				return end
			}
		default:
			return r.action
		}
	}
	return goOn
}
