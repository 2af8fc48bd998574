package settings

import (
	"slices"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// httpsPort is that of "https://name/" without a port.
const httpsPort = 443

func (s *serviceEntry) httpsKey() schema.Key {
	s.https.Port = httpsPort
	return schema.Noting(&s.httpsLine, schema.Section("https",
		schema.One("port", &s.https.Port, schema.Port()),
		schema.Many("alpn", &s.alpn, schema.OneOf("h2", "h3"), 0), // of RFC 7301, as far as browsers know some
	))
}

// finishHTTPS sees to it that the service has the port that its HTTPS record names.
func (s *serviceEntry) finishHTTPS(faults *schema.Faults, path string) *HTTPS {
	if s.httpsLine == 0 {
		return nil
	}
	record := s.https
	record.ALPN = schema.Values(s.alpn)
	opened := slices.ContainsFunc(schema.Values(s.opened()), func(p model.Port) bool { return p.Protocol == model.TCP && p.Port == record.Port })
	if !opened {
		faults.Add(s.httpsLine, "%s.https.port: the service does not open tcp/%d", path, record.Port)
	}
	return &record
}
