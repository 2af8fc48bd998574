package nameserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// updateBy sends an update that change fills, signed by a key.
func updateBy(t testing.TB, server *Public, key string, change func(*dns.Msg)) *dns.Msg {
	t.Helper()
	m := new(dns.Msg).SetUpdate("foo.example.")
	change(m)
	if key == "" {
		return unpacked(t, through(server, packed(t, m), TCP))
	}
	m.SetTsig(key, dns.HmacSHA256, 300, time.Now().Unix())
	wire, mac, err := dns.TsigGenerate(m, testSecret, "", false)
	if err != nil {
		t.Fatal(err)
	}
	reply := through(server, wire, UDP)
	if err := dns.TsigVerify(slices.Clone(reply), testSecret, mac, false); err != nil && !errors.Is(err, dns.ErrAuth) { // the library takes any NOTAUTH for that
		t.Errorf("the reply's signature: %v", err)
	}
	return unpacked(t, reply)
}

func rrs(t testing.TB, lines ...string) []dns.RR {
	t.Helper()
	var records []dns.RR
	for _, line := range lines {
		rr, err := dns.NewRR(line)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, rr)
	}
	return records
}

func insert(t testing.TB, lines ...string) func(*dns.Msg) {
	t.Helper()
	return func(m *dns.Msg) { m.Insert(rrs(t, lines...)) }
}

func textsAt(t testing.TB, server responder, name string) []string {
	t.Helper()
	return texts(unpacked(t, through(server, packed(t, request(name, dns.TypeTXT)), TCP)).Answer)
}

func serialNow(t testing.TB, server responder) uint32 {
	t.Helper()
	return unpacked(t, through(server, packed(t, request("foo.example.", dns.TypeSOA)), TCP)).Answer[0].(*dns.SOA).Serial
}

func TestUpdateIsForChallengesAlone(t *testing.T) {
	const challenge = `_acme-challenge.foo.example. 60 IN TXT "x"`
	for _, test := range []struct {
		about, key string
		change     func(*dns.Msg)
		rcode      int
	}{
		{"a challenge", "update.key.", insert(t, challenge), 0},
		{"of a lent name", "update.key.", insert(t, `_acme-challenge.shop.foo.example. 60 IN TXT "x"`), 0},
		{"in any letters", "update.key.", insert(t, `_ACME-Challenge.Shop.foo.example. 60 IN TXT "x"`), 0},
		{"of a lent name, as a zone", "update.key.", func(m *dns.Msg) {
			m.Question[0].Name = "shop.foo.example."
			m.Used(rrs(t, "shop.foo.example. 0 IN SOA ns.foo.example. mail.foo.example. 100 7200 600 86400 120"))
			insert(t, `_acme-challenge.in.shop.foo.example. 60 IN TXT "x"`)(m)
		}, 0},
		{"above a lent name, as a zone", "update.key.", func(m *dns.Msg) {
			m.Question[0].Name = "shop.foo.example."
			insert(t, challenge)(m)
		}, dns.RcodeNotZone},
		{"by a secondary, as a zone", "copy.key.", func(m *dns.Msg) { m.Question[0].Name = "shop.foo.example." }, dns.RcodeRefused},
		{"below a lent name, as a zone", "update.key.", func(m *dns.Msg) { m.Question[0].Name = "in.shop.foo.example." }, dns.RcodeNotAuth},
		{"of a closed name, as a zone", "update.key.", func(m *dns.Msg) { m.Question[0].Name = "closed.foo.example." }, dns.RcodeNotAuth},
		{"unsigned", "", insert(t, challenge), dns.RcodeRefused},
		{"by a secondary", "copy.key.", insert(t, challenge), dns.RcodeRefused},
		{"another type", "update.key.", insert(t, "_acme-challenge.foo.example. 60 IN A 192.0.2.1"), dns.RcodeRefused},
		{"another name", "update.key.", insert(t, `www2.foo.example. 60 IN TXT "x"`), dns.RcodeRefused},
		{"a name that only contains it", "update.key.", insert(t, `x._acme-challenge.foo.example. 60 IN TXT "x"`), dns.RcodeRefused},
		{"a name that begins alike", "update.key.", insert(t, `_acme-challenges.foo.example. 60 IN TXT "x"`), dns.RcodeRefused},
		{"in a delegated zone", "update.key.", insert(t, `_acme-challenge.lab.foo.example. 60 IN TXT "x"`), dns.RcodeRefused},
		{"in another zone of ours", "update.key.", insert(t, `_acme-challenge.child.foo.example. 60 IN TXT "x"`), dns.RcodeNotZone},
		{"in no zone", "update.key.", insert(t, `_acme-challenge.example.net. 60 IN TXT "x"`), dns.RcodeNotZone},
		{"a CNAME is there", "update.key.", insert(t, `_acme-challenge.there.foo.example. 60 IN TXT "x"`), dns.RcodeRefused},
		{"too long", "update.key.", insert(t, fmt.Sprintf(`_acme-challenge.foo.example. 60 IN TXT "%s" "%s"`, strings.Repeat("x", 200), strings.Repeat("y", 200))), dns.RcodeFormatError},
		{"one of two is refused", "update.key.", insert(t, challenge, `foo.example. 60 IN TXT "x"`), dns.RcodeRefused},
		{"removing what is not its", "update.key.", func(m *dns.Msg) { m.RemoveName(rrs(t, "foo.example. 0 IN TXT x")) }, dns.RcodeRefused},
		{"removing an RRset of the file", "update.key.", func(m *dns.Msg) { m.RemoveRRset(rrs(t, "foo.example. 0 IN MX 10 mail.foo.example.")) }, dns.RcodeRefused},
		{"another zone", "update.key.", func(m *dns.Msg) { m.Question[0].Name = "child.foo.example." }, dns.RcodeRefused},
		{"no zone of ours", "update.key.", func(m *dns.Msg) { m.Question[0].Name = "www.foo.example." }, dns.RcodeNotAuth},
		{"not a zone", "update.key.", func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeTXT }, dns.RcodeFormatError},
		{"another class", "update.key.", func(m *dns.Msg) {
			insert(t, challenge)(m)
			m.Ns[0].Header().Class = dns.ClassCHAOS
		}, dns.RcodeFormatError},
		{"name in use", "update.key.", func(m *dns.Msg) { m.NameUsed(rrs(t, "shop.foo.example. 0 IN A 192.0.2.1")) }, 0},
		{"name not in use", "update.key.", func(m *dns.Msg) { m.NameUsed(rrs(t, "nobody.foo.example. 0 IN A 192.0.2.1")) }, dns.RcodeNameError},
		{"name in use, and is not to be", "update.key.", func(m *dns.Msg) { m.NameNotUsed(rrs(t, "mail.foo.example. 0 IN A 192.0.2.1")) }, dns.RcodeYXDomain},
		{"set is there", "update.key.", func(m *dns.Msg) { m.RRsetUsed(rrs(t, "foo.example. 0 IN SOA a. b. 1 2 3 4 5")) }, 0},
		{"set is not there", "update.key.", func(m *dns.Msg) { m.RRsetUsed(rrs(t, "_acme-challenge.foo.example. 0 IN TXT x")) }, dns.RcodeNXRrset},
		{"set is there, and is not to be", "update.key.", func(m *dns.Msg) { m.RRsetNotUsed(rrs(t, "mail.foo.example. 0 IN A 192.0.2.1")) }, dns.RcodeYXRrset},
		{"set as given", "update.key.", func(m *dns.Msg) { m.Used(rrs(t, "mail.foo.example. 0 IN A 198.51.100.25")) }, 0},
		{"set not as given", "update.key.", func(m *dns.Msg) { m.Used(rrs(t, "mail.foo.example. 0 IN A 198.51.100.26")) }, dns.RcodeNXRrset},
		{"prerequisite elsewhere", "update.key.", func(m *dns.Msg) { m.NameUsed(rrs(t, "example.net. 0 IN A 192.0.2.1")) }, dns.RcodeNotZone},
	} {
		t.Run(test.about, func(t *testing.T) {
			server, allocator := newPublic(t, func(o *PublicOptions) { copying(t, o, copyZone+"_acme-challenge.there CNAME there.example.net.\n") })
			before := serialNow(t, server)
			reply := updateBy(t, server, test.key, test.change)
			if reply.Rcode != test.rcode || reply.Opcode != dns.OpcodeUpdate {
				t.Errorf("got %v", reply)
			}
			m := new(dns.Msg)
			test.change(m.SetUpdate("foo.example."))
			changes := test.rcode == 0 && len(m.Ns) > 0
			if raised := serialNow(t, server) != before; raised != changes {
				t.Errorf("serial raised: %v", raised)
			}
			if s := server.Statistics(); (s.Updates == 1) != changes || len(allocator.questions()) != 0 {
				t.Errorf("counters %+v", s)
			}
		})
	}
}

func TestChallengesComeAndGo(t *testing.T) {
	store := &textStore{}
	journal := func() *Journal {
		t.Helper()
		j, err := NewJournal(store)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	kept := journal()
	change := func(o *PublicOptions) { copying(t, o, copyZone); o.Journal = kept }
	server, _ := newPublic(t, change)
	inside := newPrivate(t, func(o *PrivateOptions) { o.Zones, o.Directory, o.Journal = newZones("foo.example."), copied, kept })
	const name = "_acme-challenge.www.shop.foo.example."
	line := func(text string) string { return fmt.Sprintf("%s 60 IN TXT %q", name, text) }
	first := serialNow(t, server)
	updateBy(t, server, "update.key.", insert(t, line("one"), line("two")))
	updateBy(t, server, "update.key.", insert(t, line("two"))) // there already
	for about, s := range map[string]responder{"outside": server, "inside": inside} {
		if got := textsAt(t, s, name); !slices.Equal(got, []string{line("one"), line("two")}) {
			t.Errorf("%s: %q", about, got)
		}
	}
	if serial := serialNow(t, server); serial != first+1 {
		t.Errorf("serial %d after %d", serial, first)
	}
	// A new process has them, and the same serial; a change of the file raises it.
	kept = journal()
	server, _ = newPublic(t, change)
	if got := textsAt(t, server, name); len(got) != 2 {
		t.Errorf("after a restart: %q", got)
	}
	if serial := serialNow(t, server); serial != first+1 {
		t.Errorf("serial %d after a restart", serial)
	}
	updateBy(t, server, "update.key.", func(m *dns.Msg) { m.Remove(rrs(t, line("one"))) })
	if got := textsAt(t, server, name); !slices.Equal(got, []string{line("two")}) {
		t.Errorf("one removed: %q", got)
	}
	updateBy(t, server, "update.key.", func(m *dns.Msg) { m.RemoveRRset(rrs(t, line("two"))) })
	if got := textsAt(t, server, name); got != nil {
		t.Errorf("all removed: %q", got)
	}
	for i := range 20 {
		updateBy(t, server, "update.key.", insert(t, line(fmt.Sprint(i))))
	}
	if got := textsAt(t, server, name); len(got) != challengesByName || got[0] != line("4") || got[15] != line("19") {
		t.Errorf("too many of a name: %q", got)
	}
}

func TestChallengesOfAZoneAreBounded(t *testing.T) {
	server := primary(t)
	for i := range challengesByZone + 1 {
		reply := updateBy(t, server, "update.key.", insert(t, fmt.Sprintf("_acme-challenge.h%d.foo.example. 60 IN TXT x", i)))
		if refused := reply.Rcode == dns.RcodeRefused; refused != (i == challengesByZone) {
			t.Fatalf("%d: %v", i, reply)
		}
	}
}

// While a certificate of a name below a lent wildcard is renewed, the name
// stays: the challenge below it does not make it an empty non-terminal.
func TestChallengeHidesNoWildcard(t *testing.T) {
	server, allocator := newPublic(t, func(o *PublicOptions) {
		o.Zones, o.Directory = fooZones(t), mixed
		o.Keys = []Key{testKey(t, "update.key.")}
		o.Zones[0].Updaters = []model.Name{"update.key."}
	})
	for _, name := range []string{"x.wild.foo.example.", "y.dyn.foo.example."} {
		if reply := updateBy(t, server, "update.key.", insert(t, "_acme-challenge."+name+" 60 IN TXT x")); reply.Rcode != 0 {
			t.Fatal(reply)
		}
		if reply := unpacked(t, through(server, packed(t, request(name, dns.TypeA)), TCP)); len(reply.Answer) != 1 {
			t.Errorf("%s: %v", name, reply)
		}
	}
	if asked := allocator.questions(); len(asked) != 1 {
		t.Errorf("lent for %v", asked)
	}
	updateBy(t, server, "update.key.", insert(t, "_acme-challenge.a.none.foo.example. 60 IN TXT x"))
	if reply := unpacked(t, through(server, packed(t, request("none.foo.example.", dns.TypeA)), TCP)); reply.Rcode != dns.RcodeSuccess {
		t.Errorf("above a challenge: %v", reply)
	}
}

// textStore keeps the State as JSON, as the daemon does, until it is told to fail.
type textStore struct {
	text []byte
	err  error
}

func (s *textStore) Load() (state State, err error) {
	if len(s.text) > 0 {
		err = json.Unmarshal(s.text, &state)
	}
	return state, err
}

func (s *textStore) Save(state State) (err error) {
	if s.err == nil {
		s.text, err = json.Marshal(state)
		return err
	}
	return s.err
}

func TestUpdateThatIsNotKeptIsNotDone(t *testing.T) {
	store := &textStore{}
	journal, err := NewJournal(store)
	if err != nil {
		t.Fatal(err)
	}
	server, _ := newPublic(t, func(o *PublicOptions) { copying(t, o, copyZone); o.Journal = journal })
	before := serialNow(t, server)
	store.err = errors.New("the disk is full")
	reply := updateBy(t, server, "update.key.", insert(t, `_acme-challenge.foo.example. 60 IN TXT "x"`))
	if got := textsAt(t, server, "_acme-challenge.foo.example."); reply.Rcode != dns.RcodeServerFailure || got != nil || serialNow(t, server) != before {
		t.Errorf("got %v, %q", reply, got)
	}
}

func TestDamagedState(t *testing.T) {
	for about, text := range map[string]string{
		"half a file":      `{"zones":{"foo.example.":{"serial":7,`,
		"not a TXT":        `{"zones":{"foo.example.":{"serial":7,"digest":"d","challenges":["foo.example. 1 IN A 192.0.2.1"]}}}`,
		"of another zone":  `{"zones":{"foo.example.":{"serial":7,"digest":"d","challenges":["_acme-challenge.example.net. 1 IN TXT x"]}}}`,
		"no record at all": `{"zones":{"foo.example.":{"serial":7,"digest":"d","challenges":["("]}}}`,
	} {
		if _, err := NewJournal(&textStore{text: []byte(text)}); err == nil {
			t.Errorf("%s was accepted", about)
		}
	}
}

// Debian's nsupdate and knsupdate, as ACME clients run them.
func TestNsupdate(t *testing.T) {
	server := primary(t)
	host, port, _ := strings.Cut(start(t, server), ":")
	for _, program := range []string{"nsupdate", "knsupdate"} {
		t.Run(program, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatalf("%s is not installed: install dnsutils and knot-dnsutils", program)
				}
				t.Skipf("%s is not installed: install dnsutils and knot-dnsutils", program)
			}
			name := "_acme-challenge." + program + ".foo.example."
			run := func(commands string) {
				t.Helper()
				command := exec.CommandContext(t.Context(), program, "-y", "hmac-sha256:update.key.:"+testSecret)
				command.Stdin = strings.NewReader(fmt.Sprintf("server %s %s\nzone foo.example.\n%s\nsend\n", host, port, commands))
				if output, err := command.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", program, err, output)
				}
			}
			run("update add " + name + " 60 TXT \"token\"")
			if got := textsAt(t, server, name); !slices.Equal(got, []string{name + ` 60 IN TXT "token"`}) {
				t.Errorf("added: %q", got)
			}
			run("update delete " + name + " TXT")
			if got := textsAt(t, server, name); got != nil {
				t.Errorf("deleted: %q", got)
			}
		})
	}
}
