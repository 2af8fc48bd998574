package demo

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// EdgesOptions say how to show two networks that are joined by name.
type EdgesOptions struct {
	Out        io.Writer
	JSON       bool   // one array of Result instead of the text
	Colour     bool   // for a terminal
	Executable string // the realmgate program; empty means this one

	change func(letter, configuration string) string // a test puts another into force
}

// proxyRange stands at both edges for hosts behind the other.
var proxyRange = netip.MustParsePrefix("172.31.0.0/16")

// twoSites is the story of two sites of one owner with the same addresses inside.
type twoSites struct {
	stage
	change  func(letter, configuration string) string
	a, b    edge
	capture *capture
}

// edge is a gateway with a host behind it.
type edge struct {
	letter  string
	gateway *netns.Gateway
	host    person
	visits  *visitors  // of the host's web server
	pin     string     // of its certificate
	proxy   netip.Addr // what stands there for the other's host
	tag     string     // what stands in the tunnel for its host
}

// zone is what its hosts' names are in.
func (e *edge) zone() string { return e.letter + ".example." }

// name is that of its host.
func (e *edge) name() string { return e.host.name + "." + e.zone() }

// RunEdges shows two networks with the same addresses fetch from each other by name, as Run tells the story.
func RunEdges(ctx context.Context, o EdgesOptions) error {
	executable, err := ready(o.Executable)
	if err != nil {
		return err
	}
	if o.change == nil {
		o.change = func(_, configuration string) string { return configuration }
	}
	options := Options{Out: o.Out, JSON: o.JSON, Colour: o.Colour, Executable: executable}
	s := &twoSites{change: o.change, stage: stage{options: options, tell: newTeller(options, "two networks with the same addresses, joined by name")}}
	return s.perform(ctx, s.steps(), s.leave, nil)
}

func (s *twoSites) steps() []step {
	return []step{
		{"Two networks with the same addresses", s.layOut},
		{"hosta fetches from hostb by name", func(ctx context.Context) error { return s.fetch(ctx, &s.a, &s.b) }},
		{"hostb fetches from hosta by name", func(ctx context.Context) error { return s.fetch(ctx, &s.b, &s.a) }},
		{"What went between the two", s.seen},
		{"A clean stop leaves nothing behind", s.stop},
	}
}

// leave ends what the steps left open.
func (s *twoSites) leave() {
	if s.capture != nil {
		s.capture.close()
	}
	s.a.visits.close()
	s.b.visits.close()
}

// Step 1: two gateways on one public network, each with a host of the same private address.
func (s *twoSites) layOut(ctx context.Context) error {
	if err := s.lay(netns.Options{Hosts: 1, Gateways: 2}); err != nil {
		return err
	}
	for i, e := range []*edge{&s.a, &s.b} {
		e.letter, e.gateway = string(rune('a'+i)), s.realm.Gateways[i]
		e.host = person{"host" + e.letter, e.gateway.Hosts[0]}
		var err error
		if e.visits, err = serveVisitors(e.host, insidePort); err == nil {
			e.pin, err = s.certify(e)
		}
		if err != nil {
			return err
		}
		s.tell.see("host_"+e.letter, e.host.IP)
		s.tell.see("edge_"+e.letter, e.gateway.PublicAddress)
	}
	if err := expect("the private address of hostb", s.b.host.IP, s.a.host.IP); err != nil {
		return err
	}
	s.tell.note(s.picture()...)
	var err error
	if s.capture, err = newCapture(s.realm.Router, "gateway-0", "gateway2-0"); err != nil {
		return err
	}
	for _, c := range []struct {
		own, other *edge
		instance   string
	}{{&s.a, &s.b, s.id}, {&s.b, &s.a, s.id + secondInstance}} {
		if err := s.startEdge(ctx, c.own, c.other, c.instance); err != nil {
			return err
		}
	}
	return nil
}

// startEdge starts the gateway of an edge.
func (s *twoSites) startEdge(ctx context.Context, own, other *edge, instance string) error {
	d := s.daemonAt(own.gateway, instance, own.letter)
	if s.gateway == nil {
		s.gateway = d
	} else {
		s.second = d
	}
	if err := d.configure(s.change(own.letter, s.configuration(own, other))); err != nil {
		return err
	}
	status, took, err := d.start(ctx)
	if err != nil {
		return err
	}
	s.tell.say("Edge %s runs as process %d. It was ready after %.2f s.", own.letter, status.PID, took.Seconds())
	s.tell.see("pid_"+own.letter, status.PID)
	return nil
}

// configuration is an edge that lets everybody of the other in, and has one service of its own.
func (s *twoSites) configuration(own, other *edge) string {
	g := own.gateway
	return fmt.Sprintf(`interfaces: {public: [%s], private: [%s]}
realm: {zones: [%s], nameserver: ns.%[3]s}
dns: {public: "%s:53", private: "%s:53"}
pool: {addresses: [%s]}
outbound: {addresses: [%s]}
capacity: 10000
hosts:
  - {name: %s, address: %s, open: [tcp/%d:%d]}
edges:
  name: edge.%[3]s
  certificate: {chain: %[12]s.pem, key: %[12]s.key}
  listen: %[4]s
  proxy: %[13]s
  peers: [{name: edge.%[14]s, zones: [%[14]s], address: %s, key: %s}]
  in: [{from: ["*.%[14]s"], to: ["*.%[3]s"]}]
`, g.Public[0], g.Private[0], own.zone(), g.PublicAddress, g.PrivateAddress, g.Pool.Addr().Next(), g.Outbound,
		own.name(), own.host.IP, webPort, insidePort, own.letter, proxyRange, other.zone(), other.gateway.PublicAddress, other.pin)
}

// certify makes an edge's certificate, and returns the pin by which the other knows it.
func (s *twoSites) certify(e *edge) (string, error) {
	made, err := certificateOf([]string{"edge." + plain(e.zone())})
	if err != nil {
		return "", err
	}
	key, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err != nil {
		return "", fmt.Errorf("write a key: %w", err)
	}
	parsed, err := x509.ParseCertificate(made.Certificate[0])
	if err != nil {
		return "", fmt.Errorf("read a certificate: %w", err)
	}
	path := filepath.Join(s.directory, e.letter)
	err = errors.Join(
		os.WriteFile(path+".pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Certificate[0]}), 0o600),
		os.WriteFile(path+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600),
	)
	if err != nil {
		return "", fmt.Errorf("write an edge's certificate: %w", err)
	}
	pin := sha256.Sum256(parsed.RawSubjectPublicKeyInfo)
	return "sha256/" + base64.StdEncoding.EncodeToString(pin[:]), nil
}

// Steps 2 and 3: a host asks its own gateway for a name of the other's, and fetches.
func (s *twoSites) fetch(ctx context.Context, from, to *edge) error {
	got, err := from.host.ask(ctx, from.gateway.PrivateAddress, to.name())
	if err != nil {
		return err
	}
	if !proxyRange.Contains(got.address) {
		return mismatch{"the address for " + to.name(), "a proxy address, of " + proxyRange.String(), got.address.String()}
	}
	from.proxy = got.address
	s.tell.say("%s asks for %s and gets %s, after %s.", from.host.name, plain(to.name()), got.address, milliseconds(got.took))
	s.tell.note(fmt.Sprintf("That is a proxy address: it stands for %s, for %s alone.", to.host.name, from.host.name))
	says, err := from.host.fetchByName(ctx, netip.AddrPortFrom(got.address, webPort), plain(to.name()))
	if err != nil {
		return err
	}
	if err := expect("the page that "+from.host.name+" gets", says, greeting(to.host.name)); err != nil {
		return err
	}
	s.tell.say("%s opens http://%s/: %q", from.host.name, plain(to.name()), says)
	came, err := to.visits.next(ctx)
	if err != nil {
		return err
	}
	if !proxyRange.Contains(came) {
		return mismatch{"whom " + to.host.name + " saw", "a proxy address, of " + proxyRange.String(), came.String()}
	}
	s.tell.say("%s saw %s: what stands there for %s.", to.host.name, came, from.host.name)
	if to.proxy.IsValid() {
		err = expect("what stands for "+from.host.name+" at edge "+to.letter, came, to.proxy)
	}
	to.proxy = came
	s.tell.see("proxy_address_"+from.letter, from.proxy)
	s.tell.see("proxy_address_"+to.letter, to.proxy)
	s.tell.see("milliseconds", got.took.Seconds()*1000)
	return err
}

// Step 5: both stop, and the lab goes.
func (s *twoSites) stop(context.Context) error {
	s.leave()
	if err := errors.Join(s.gateway.stop(), s.second.stop()); err != nil {
		return err
	}
	for _, instance := range []string{s.id, s.id + secondInstance} {
		if err := expect("what it left in the BPF file system", s.files.pins(instance), ""); err != nil {
			return err
		}
	}
	s.tell.say("Both are asked to stop, and end without an error and leave no table.")
	return s.closeLab()
}

// picture draws the lab in 72 columns.
func (s *twoSites) picture() []string {
	row := func(e *edge) string {
		return fmt.Sprintf("%s %s -- %s | edge %s | %-11s -+", e.host.name, e.host.IP, e.gateway.PrivateAddress, e.letter, e.gateway.PublicAddress)
	}
	return []string{"", row(&s.a), fmt.Sprintf("%67s", "+- one network"), row(&s.b), ""}
}
