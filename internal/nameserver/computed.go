package nameserver

import (
	"fmt"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// computed are the types of records that are made from what the directory has of a name, nil
// where the name has none. None of them holds an address: that is to be asked for.
var computed = map[uint16]func(*search, Entry) dns.RR{
	dns.TypeSRV:   serviceRecord,
	dns.TypeTXT:   textRecord,
	dns.TypeHTTPS: httpsRecord,
	dns.TypeNAPTR: pointerRecord,
}

// header is of a computed record.
func (s *search) header(rrtype uint16) dns.RR_Header { return header(s.owner, rrtype, recordTTL) }

// single is the one port of TCP or UDP that an entry opens, as this side has it: who gets the
// private address must use the private port.
func (s *search) single(e Entry) (port uint16, protocol model.Protocol, ok bool) {
	single, ok := e.single()
	if s.inside {
		return single.To, single.Protocol, ok
	}
	return single.Port, single.Protocol, ok
}

func serviceRecord(s *search, e Entry) dns.RR {
	port, _, ok := s.single(e)
	if !ok {
		return nil
	}
	return &dns.SRV{Hdr: s.header(dns.TypeSRV), Port: port, Target: s.owner}
}

func textRecord(s *search, e Entry) dns.RR {
	port, protocol, ok := s.single(e)
	if !ok {
		return nil
	}
	return &dns.TXT{Hdr: s.header(dns.TypeTXT), Txt: []string{fmt.Sprintf("protocol=%s port=%d", protocol, port)}}
}

// httpsRecord tells a browser the port, so that it need not try 443 first, and never
// an address: who takes one from a hint has not asked for it (RFC 9460 §7.3).
func httpsRecord(s *search, e Entry) dns.RR {
	if e.HTTPS == nil {
		return nil
	}
	rr := &dns.HTTPS{SVCB: dns.SVCB{Hdr: s.header(dns.TypeHTTPS), Priority: 1, Target: "."}}
	if len(e.HTTPS.ALPN) > 0 {
		rr.Value = append(rr.Value, &dns.SVCBAlpn{Alpn: e.HTTPS.ALPN})
	}
	port := e.HTTPS.Port
	for _, open := range e.Ports {
		if s.inside && open.Port == port && port != 0 {
			port = open.To
			break
		}
	}
	if port != 0 && port != 443 {
		rr.Value = append(rr.Value, &dns.SVCBPort{Port: port})
	}
	return rr
}
