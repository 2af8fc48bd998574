package zone

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// maxRecords bounds what one file may hold, $GENERATE included.
const maxRecords = 65536

// Parse reads the zone file of name; file is what errors call it. $INCLUDE is
// not followed: a zone is one file. The file need have no SOA and no NS for
// this server, both of which the server has itself.
func Parse(r io.Reader, name model.Name, file string) (*Zone, error) {
	z := &Zone{name: name, file: file, nodes: map[string]*Node{}}
	lines := &lineReader{r: bufio.NewReader(r)}
	parser := dns.NewZoneParser(lines, string(name), file)
	parser.SetDefaultTTL(defaultTTL)
	for {
		rr, ok := parser.Next()
		if !ok {
			break
		}
		line := lines.line()
		if len(z.records) >= maxRecords {
			return nil, z.problem(line, "more than %d records", maxRecords)
		}
		rr, err := normal(rr)
		if err != nil {
			return nil, z.problem(line, "%v", err)
		}
		if err := z.add(record{rr, line}); err != nil {
			return nil, err
		}
	}
	if err := parser.Err(); err != nil {
		return nil, atLine(file, err)
	}
	return z, z.consistent()
}

// defaultTTL is for records without a TTL in files without $TTL (RFC 2308 §4).
const defaultTTL = 3600

func (z *Zone) problem(line int, format string, arguments ...any) *Problem {
	return &Problem{File: z.file, Line: line, Text: fmt.Sprintf(format, arguments...)}
}

// normal sends a record over the wire and back, so that its names are written
// as those of questions are, and so that no record is kept that cannot be sent.
func normal(rr dns.RR) (dns.RR, error) {
	if rr.Header().Name == "" {
		return nil, errors.New("a record without a name, and none before it to take it from")
	}
	wire := make([]byte, dns.Len(rr)+256)
	end, err := dns.PackRR(rr, wire, 0, nil, false)
	if err != nil {
		return nil, fmt.Errorf("the record cannot be sent: %w", err)
	}
	back, _, err := dns.UnpackRR(wire[:end], 0)
	if err != nil {
		return nil, fmt.Errorf("the record cannot be read again: %w", err)
	}
	if back.Header().Rdlength == 0 { // the library takes it for one of a dynamic update
		return nil, fmt.Errorf("%s without data", dns.Type(rr.Header().Rrtype))
	}
	return back, nil
}

// unserved are the types that a zone of this server cannot have, and why not.
var unserved = map[uint16]string{
	dns.TypeDNAME:      "DNAME is not served: name what is redirected by CNAMEs",
	dns.TypeDNSKEY:     notSigned,
	dns.TypeRRSIG:      notSigned,
	dns.TypeNSEC:       notSigned,
	dns.TypeNSEC3:      notSigned,
	dns.TypeNSEC3PARAM: notSigned,
	dns.TypeOPT:        "OPT is no record of a zone",
}

const notSigned = "the zone is not signed, as its addresses are made when they are asked for: leave DNSSEC records out"

// add takes a record in; it is checked as far as that needs no other record.
func (z *Zone) add(r record) error {
	h := r.rr.Header()
	name := dns.CanonicalName(h.Name)
	switch why, found := unserved[h.Rrtype]; {
	case found:
		return z.problem(r.line, "%s", why)
	case h.Rrtype >= dns.TypeTKEY && h.Rrtype <= dns.TypeANY: // RFC 6895 §3.1
		return z.problem(r.line, "%s is no type of a record", dns.Type(h.Rrtype))
	case h.Class != dns.ClassINET:
		return z.problem(r.line, "class %s: this server has class IN", dns.Class(h.Class))
	case !dns.IsSubDomain(string(z.name), name):
		return z.problem(r.line, "%s is not in the zone %s", h.Name, z.name)
	case h.Ttl > 1<<31-1: // RFC 2181 §8
		return z.problem(r.line, "the TTL %d is longer than 2147483647", h.Ttl)
	}
	if soa, ok := r.rr.(*dns.SOA); ok {
		switch {
		case name != string(z.name):
			return z.problem(r.line, "an SOA of %s: only the zone %s has one", h.Name, z.name)
		case z.soa != nil:
			return z.problem(r.line, "a second SOA")
		}
		z.soa = soa
		return nil
	}
	node := z.grow(name)
	for _, other := range node.sets[h.Rrtype] {
		if dns.IsDuplicate(other, r.rr) {
			return nil // RFC 2181 §5
		}
	}
	node.add(r)
	z.records = append(z.records, r)
	return nil
}

// grow makes the node of a name, and of those between it and the apex, which
// exist by it (RFC 4592 §2.2.2).
func (z *Zone) grow(name string) *Node {
	node := z.nodes[name]
	if node == nil {
		node = &Node{}
		z.nodes[name] = node
	}
	if name != string(z.name) {
		z.grow(parent(name))
	}
	return node
}

// consistent checks what single records do not show.
func (z *Zone) consistent() error {
	for _, r := range z.records {
		h := r.rr.Header()
		name := dns.CanonicalName(h.Name)
		node := z.nodes[name]
		if h.Rrtype == dns.TypeCNAME {
			switch {
			case name == string(z.name):
				return z.problem(r.line, "a CNAME at the zone's apex: it has an SOA and NS records (RFC 1034 §3.6.2)")
			case len(node.sets[dns.TypeCNAME]) > 1:
				return z.problem(r.line, "several CNAMEs of %s", h.Name)
			case len(node.sets) > 1:
				return z.problem(r.line, "%s has a CNAME and other records (RFC 1034 §3.6.2)", h.Name)
			}
		}
		if h.Rrtype == dns.TypeNS && strings.HasPrefix(name, "*.") {
			return z.problem(r.line, "a delegation of the wildcard %s (RFC 4592 §4.2)", h.Name)
		}
		if err := z.besideCut(r, name); err != nil {
			return err
		}
	}
	return nil
}

// besideCut finds what a delegation hides: below it there is only glue, and at
// it nothing but NS and DS (RFC 1034 §4.2.1, RFC 4035 §2.4).
func (z *Zone) besideCut(r record, name string) error {
	cut, _, ok := z.Cut(name)
	if !ok {
		if r.rr.Header().Rrtype == dns.TypeDS {
			return z.problem(r.line, "a DS where no zone is delegated (RFC 4035 §2.4)")
		}
		return nil
	}
	switch t := r.rr.Header().Rrtype; {
	case name == cut && (t == dns.TypeNS || t == dns.TypeDS):
	case t == dns.TypeA || t == dns.TypeAAAA: // glue, of a server that is the zone's own or below it
	default:
		return z.problem(r.line, "%s %s is in the zone %s, which is delegated", r.rr.Header().Name, dns.Type(t), cut)
	}
	return nil
}
