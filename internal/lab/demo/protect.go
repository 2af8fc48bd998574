package demo

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// ProtectOptions say how to show the protection at work.
type ProtectOptions struct {
	Out        io.Writer
	JSON       bool   // one array of Result instead of the text
	Colour     bool   // for a terminal
	Executable string // the realmgate program; empty means this one

	change func(configuration string) string // a test puts another into force
}

// siege is the story of a service and of those whom the protection keeps from it.
type siege struct {
	stage
	change        func(string) string
	configuration string // in force
	hosta         person

	ann, bob, scanner, guesser caller
	bans                       int // so far
}

// caller is somebody outside with a connection to the service.
type caller struct {
	person
	visit *visit
	lines *stream
}

// RunProtect shows the protection at work, as Run tells the story.
func RunProtect(ctx context.Context, o ProtectOptions) error {
	executable, err := ready(o.Executable)
	if err != nil {
		return err
	}
	if o.change == nil {
		o.change = func(configuration string) string { return configuration }
	}
	options := Options{Out: o.Out, JSON: o.JSON, Colour: o.Colour, Executable: executable, greeting: greeting}
	s := &siege{stage: stage{options: options, tell: newTeller(options, "what the protection does to those who attack")}, change: o.change}
	return s.perform(ctx, s.steps(), s.leave, nil)
}

func (s *siege) steps() []step {
	return []step{
		{"A service that everybody reaches", s.layOut},
		{"A country is blocked", s.block},
		{"A scanner falls into the honeypot", s.honeypot},
		{"Somebody guesses passwords", s.guess},
		{"What was counted, and the end of a ban", s.count},
		{"A clean stop leaves nothing behind", s.stop},
	}
}

// Where the people of this story say they live: ordinary addresses, which are anybody's
// outside of the lab.
var (
	annLives     = country{netip.MustParseAddr("77.0.0.1"), "FI"}
	bobLives     = country{netip.MustParseAddr("77.0.0.2"), "AQ"}
	scannerLives = country{netip.MustParseAddr("77.0.0.3"), "FI"}
	guesserLives = country{netip.MustParseAddr("77.0.0.4"), "FI"}
)

// Step 1: a gateway without protection, and four who read from the host behind it.
func (s *siege) layOut(ctx context.Context) error {
	if err := s.lay(netns.Options{Hosts: 1, RemoteClients: 4}); err != nil {
		return err
	}
	s.hosta = person{"hosta", s.realm.Hosts()[0]}
	if err := s.castWeb(s.hosta, insidePort); err != nil {
		return err
	}
	for i, c := range []struct {
		who   *caller
		name  string
		lives country
	}{{&s.ann, "ann", annLives}, {&s.bob, "bob", bobLives}, {&s.scanner, "scanner", scannerLives}, {&s.guesser, "guesser", guesserLives}} {
		var err error
		if c.who.person, err = settle(s.realm.Router, person{c.name, s.realm.RemoteClients[i]}, c.lives.address); err != nil {
			return err
		}
		s.tell.see(c.name, c.lives.address)
	}
	if err := writePlaces(s.places(), []country{annLives, bobLives, scannerLives, guesserLives}); err != nil {
		return err
	}
	s.tell.note(s.picture()...)
	if err := s.startGateway(ctx, s.begin()); err != nil {
		return err
	}
	for _, who := range []*caller{&s.ann, &s.bob, &s.scanner, &s.guesser} {
		if err := s.open(ctx, who); err != nil {
			return err
		}
	}
	s.tell.say("All four reach hosta at %s.", s.service())
	s.tell.note(fmt.Sprintf("They stay connected: it sends each of them a line every %d ms.", lineEvery.Milliseconds()))
	return nil
}

// service is where everybody reaches hosta.
func (s *siege) service() netip.AddrPort {
	return netip.AddrPortFrom(s.realm.Gateway.PublicAddress, webPort)
}

// places is the file of the table of where addresses are.
func (s *siege) places() string { return filepath.Join(s.directory, "geo.table") }

// begin is a gateway that sends what comes to its web port on to hosta.
func (s *siege) begin() string {
	g := s.realm.Gateway
	s.configuration = fmt.Sprintf(`interfaces: {public: [%s], private: [%s]}
realm: {zones: [%s], nameserver: ns.%[3]s}
dns: {public: %s, private: %s}
pool: {addresses: [%s]}
capacity: 10000
chains:
  - name: web
    match: {direction: in, to: %[4]s, protocol: tcp, port: %[7]d}
    functions: [{use: dnat, to: %s, port: %d}]
`, g.Public[0], g.Private[0], zone, g.PublicAddress, g.PrivateAddress, g.Pool, webPort, s.hosta.IP, insidePort)
	return s.configuration
}

// add adds lines to the configuration and reloads it.
func (s *siege) add(ctx context.Context, text string) error {
	s.configuration += text
	if err := s.gateway.configure(s.change(s.configuration)); err != nil {
		return err
	}
	if _, err := s.gateway.client.ConfigEditor().Reload(ctx); err != nil {
		return fmt.Errorf("put it into force: %w", err)
	}
	return nil
}

// open connects somebody to the service, and has lines come.
func (s *siege) open(ctx context.Context, who *caller) (err error) {
	if who.visit, err = who.person.visit(ctx, s.service()); err != nil {
		return err
	}
	if who.lines, err = who.visit.stream(ctx, s.hosta.name); err != nil {
		return err
	}
	return who.lines.more(ctx, 2)
}

func (s *siege) leave() {
	for _, who := range []caller{s.ann, s.bob, s.scanner, s.guesser} {
		who.visit.close()
	}
}

// picture shows who is where.
func (s *siege) picture() []string {
	row := func(gateway string, outside person, lives country) string {
		return fmt.Sprintf("%-43s+- %-8s %s, in %s", gateway, outside.name, outside.IP, lives.code)
	}
	g := s.realm.Gateway
	return []string{
		"",
		fmt.Sprintf("%-20s%-25s %s", "INSIDE", "      GATEWAY", "OUTSIDE"),
		"",
		row("", s.ann.person, annLives),
		row(fmt.Sprintf("%-5s %s -- %s | %s -", s.hosta.name, s.hosta.IP, g.PrivateAddress, g.PublicAddress), s.bob.person, bobLives),
		row("", s.scanner.person, scannerLives),
		row("", s.guesser.person, guesserLives),
		"",
		"Those addresses, and the table that says where they are, are made up",
		"for this demo. FI is Finland, AQ Antarctica.",
		"",
	}
}

// stop ends the gateway and removes everything.
func (s *siege) stop(context.Context) error {
	s.leave()
	if err := s.gateway.stop(); err != nil {
		return err
	}
	if err := expect("what it left in the BPF file system", s.files.pins(s.id), ""); err != nil {
		return err
	}
	s.tell.say("The gateway is asked to stop, and ends without an error.")
	return s.closeLab()
}
