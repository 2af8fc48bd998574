package ability

import (
	"fmt"
	"strings"
)

// mostWarned bounds the lines of each kind of warning.
const mostWarned = 8

// warnings are what people should know of it, a line each.
func (j *judgement) warnings() []string {
	lines := make([]string, 0, len(j.weak)+len(j.shared))
	for _, w := range j.weak {
		lines = append(lines, w.String())
	}
	lines = bounded(lines, "hosts hold others at their web addresses back")
	shared := make([]string, 0, len(j.shared))
	for _, s := range j.shared {
		shared = append(shared, s.String())
	}
	return append(lines, bounded(shared, "pairs of hosts share certificates at their web addresses")...)
}

func bounded(lines []string, what string) []string {
	if n := len(lines); n > mostWarned {
		return append(lines[:mostWarned:mostWarned], fmt.Sprintf("%d more %s: see realmgate web", n-mostWarned, what))
	}
	return lines
}

// String says in a line what is wrong and what to do.
func (w Weak) String() string {
	if w.Unknown {
		return fmt.Sprintf("%s has not answered on all of its web ports yet, and holds the others at web address %s back: clients there are promised no more than any host can; "+
			"start it, say web: false for it, or add to web.addresses", w.Host, w.Address)
	}
	var lacks []string
	if w.NoTimestamps {
		lacks = append(lacks, "no timestamps")
	}
	if w.NoSACK {
		lacks = append(lacks, "no SACK")
	}
	if w.Smaller {
		lacks = append(lacks, fmt.Sprintf("an MSS of %d", w.Can.MSS))
	}
	return fmt.Sprintf("%s has %s, and holds the others at web address %s back: change its TCP (net.ipv4.tcp_timestamps, net.ipv4.tcp_sack, MTU), say web: false for it, or add to web.addresses",
		w.Host, strings.Join(lacks, " and "), w.Address)
}

// String says in a line what is wrong and what to do.
func (s Shared) String() string {
	return fmt.Sprintf("the certificate of %s covers %s of %s, and both are at web address %s: browsers may ask one for sites of the other; "+
		"give each host a certificate of its own names, or add to web.addresses", s.Host, s.Name, s.Other, s.Address)
}
