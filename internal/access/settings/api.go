package settings

import (
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

const (
	mostListen  = 16
	mostNames   = 64
	mostClients = 1000
)

// API is where the control API is served beside its socket. The zero value is nowhere.
type API struct {
	Listen      []netip.AddrPort
	Names       []model.Name // that requests may be for, beside the addresses
	Certificate string       // absolute path of PEM; empty: there is no TLS
	Key         string
	ClientCA    string // absolute path of PEM; empty: certificates of clients are not asked for
	Clients     []Client
}

// Client is who has a certificate, and which role.
type Client struct {
	Name model.Name // a DNS name of the certificate
	Role string     // read, operate or admin
}

// Draft is `api`.
type Draft struct {
	api       *API
	uses      schema.Uses
	listen    []schema.At[netip.AddrPort]
	names     []schema.At[model.Name]
	clients   []*client
	certified struct{ certificate, key, clientCA, clients int } // lines
}

type client struct {
	Client
	line int
}

func (c *client) keys() []schema.Key {
	return []schema.Key{
		schema.OneAt("name", &c.Name, &c.line, schema.Domain()).Must(),
		schema.One("role", &c.Role, schema.OneOf("read", "operate", "admin")).Must(),
	}
}

// New makes a draft whose values go to api. It listens at no address that is lent, or of the web.
func New(api *API, uses schema.Uses) *Draft { return &Draft{api: api, uses: uses} }

// Keys implements schema.Draft.
func (d *Draft) Keys() []schema.Key {
	return []schema.Key{schema.Section("api",
		schema.Many("listen", &d.listen, schema.Endpoint(), 1).Most(mostListen).Otherwise("none"),
		schema.Many("names", &d.names, schema.Domain(), 1).Most(mostNames).Otherwise("none"),
		schema.Noting(&d.certified.certificate, schema.One("certificate", &d.api.Certificate, schema.AbsolutePath()).Otherwise("none")),
		schema.Noting(&d.certified.key, schema.One("key", &d.api.Key, schema.AbsolutePath()).Otherwise("none")),
		schema.Noting(&d.certified.clientCA, schema.One("client_ca", &d.api.ClientCA, schema.AbsolutePath()).Otherwise("none")),
		schema.Noting(&d.certified.clients, schema.ListOf("clients", &d.clients, (*client).keys).Most(mostClients)),
	)}
}

// Finish implements schema.Draft.
func (d *Draft) Finish(faults *schema.Faults) {
	lines := d.certified
	if (lines.certificate > 0) != (lines.key > 0) {
		faults.Add(max(lines.certificate, lines.key), "api: give certificate and key, or neither")
	}
	for _, l := range d.listen {
		for _, key := range []string{schema.PoolAddresses, schema.WebAddresses} {
			if use, taken := d.uses.As(l.Value.Addr(), key); taken {
				faults.Add(l.Line, "api.listen: %s is already used by %s: clients come there for hosts", l.Value.Addr(), use)
			}
		}
		if lines.certificate == 0 && !l.Value.Addr().IsLoopback() {
			faults.Add(l.Line, "api.listen: %s can be reached from other machines: give certificate and key, or listen at 127.0.0.1", l.Value)
		}
	}
	if lines.clientCA > 0 && lines.certificate == 0 {
		faults.Add(lines.clientCA, "api.client_ca: certificates of clients take TLS: give certificate and key")
	}
	if lines.clients > 0 && lines.clientCA == 0 {
		faults.Add(lines.clients, "api.clients: give client_ca, whose certificates they have")
	}
	taken := schema.Once[model.Name]{}
	for i, c := range d.clients {
		taken.Take(faults, fmt.Sprintf("api.clients[%d].name", i), c.Name, c.line)
		d.api.Clients = append(d.api.Clients, c.Client)
	}
	d.api.Listen, d.api.Names = schema.Values(d.listen), schema.Values(d.names)
}
