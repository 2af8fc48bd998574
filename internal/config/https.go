package config

import (
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// httpsPort is that of "https://name/" without a port.
const httpsPort = 443

func (s *serviceDraft) httpsKey() key {
	s.https.Port = httpsPort
	return noting(&s.httpsLine, section("https",
		one("port", &s.https.Port, port()),
		many("alpn", &s.alpn, alpn(), 0),
	))
}

// alpn is an application protocol (RFC 7301), as far as browsers know some.
func alpn() kind[string] {
	return kind[string]{
		name: "text", allowed: "as h2 or h3", want: "h2 or h3", tags: textTag,
		show: func(s string) string { return s },
		parse: func(text string) (string, error) {
			if text != "h2" && text != "h3" {
				return "", errNoHint
			}
			return text, nil
		},
	}
}

// finishHTTPS sees to it that the service has the port that its HTTPS record names.
func (s *serviceDraft) finishHTTPS(faults *faultLog, path string) *HTTPS {
	if s.httpsLine == 0 {
		return nil
	}
	record := s.https
	record.ALPN = valuesOf(s.alpn)
	opened := slices.ContainsFunc(valuesOf(s.opened()), func(p model.Port) bool { return p.Protocol == model.TCP && p.Port == record.Port })
	if !opened {
		faults.add(s.httpsLine, "%s.https.port: the service does not open tcp/%d", path, record.Port)
	}
	return &record
}
