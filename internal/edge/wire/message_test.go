package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

var yes = true

// messages are one of each type, with all their fields.
var messages = []Message{
	Hello{
		Name: "edge.a.example.", Process: "0123456789abcdef", Versions: [2]int{1, 2}, Zones: []model.Name{"a.example."},
		Locators: []Locator{{netip.MustParseAddr("198.18.0.1"), 6081, 10, 5}}, Serial: 7, VNI: 0x123456, Epoch: 127, MTU: 1452,
		Confidential: "auto", Limits: Limits{4096, 100},
	},
	Epoch{3},
	Open{
		ID: 1 << 63, From: "hosta.a.example.", To: "hostb.b.example.", Host: 0xfedcba9876543210, Tag: 0x00010002,
		Offer: Terms{Name: "full", Hold: 3600}, Hold: 3600, Pact: &Pair{1, 2}, Round: 2,
		Require: Terms{Vouched: "pinned", Confidential: "no", Limit: Limit{100, 1000}, Services: []string{"icmp", "tcp/80"}, Evidence: &yes},
	},
	Accept{ID: 9, Tag: 0xffffffff, Host: 1, Terms: Terms{Services: []string{"all"}}},
	More{ID: 9, Require: Terms{Name: "full"}},
	Refuse{ID: 9, Reason: RefusedPolicy, Text: "no rule", Retry: 5},
	Close{Pacts: []Pair{{1, 2}}, Reason: "idle"},
	Renew{Pacts: []Pair{{1, 2}}, Hold: 60},
	Renewed{Pacts: []Pair{{1, 2}}, Gone: []Pair{{3, 4}}},
	Resume{Pacts: []Kept{{Pair{1, 2}, "hosta.a.example.", "hostb.b.example."}}, More: true},
	Resumed{Gone: []Pair{{1, 2}}},
	Ping{ID: 4, Answer: true},
	Probed{Nonce: 0x8000000000000001, Size: 1500},
	Leave{"stopping"},
}

func TestEachMessageIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	var stream []byte
	seen := make(map[string]bool)
	for _, m := range messages {
		var err error
		if stream, err = Append(stream, m); err != nil {
			t.Fatal(err)
		}
		seen[m.Type()] = true
	}
	for word := range kinds {
		if !seen[word] {
			t.Errorf("nothing tries %q", word)
		}
	}
	r := bufio.NewReader(bytes.NewReader(stream))
	for _, want := range messages {
		if got, err := Read(r); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %#v, %v, want %#v", got, err, want)
		}
	}
	if _, err := Read(r); !errors.Is(err, io.EOF) {
		t.Errorf("behind the last: got %v, want the end", err)
	}
	cut := bufio.NewReader(bytes.NewReader(stream[:20]))
	if _, err := Read(cut); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a frame that was cut: got %v", err)
	}
}

// What is written is what other programs have to read: the text is fixed.
func TestMessagesHaveTheirText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m    Message
		text string
	}{
		{messages[2], `{"type":"open","id":9223372036854775808,"from":"hosta.a.example.","to":"hostb.b.example.","host":"fedcba9876543210","tag":"0x00010002",` +
			`"offer":{"name":"full","hold":3600},"require":{"vouched":"pinned","confidential":"no","limit":{"sessions":100,"rate":1000},` +
			`"services":["icmp","tcp/80"],"evidence":true},"hold":3600,"pact":{"mine":"0x00000001","yours":"0x00000002"},"round":2}`},
		{Probed{255, 1500}, `{"type":"probed","nonce":"00000000000000ff","size":1500}`},
		{Resumed{}, `{"type":"resumed"}`},
		{messages[9], `{"type":"resume","pacts":[{"mine":"0x00000001","yours":"0x00000002","from":"hosta.a.example.","to":"hostb.b.example."}],"more":true}`},
	} {
		frame, err := Append(nil, c.m)
		if err != nil || string(frame[4:]) != c.text || int(binary.BigEndian.Uint32(frame)) != len(c.text) {
			t.Errorf("got %d %s, %v\nwant %d %s", frame[:4], frame[4:], err, len(c.text), c.text)
		}
	}
}

func TestMalformedMessages(t *testing.T) {
	t.Parallel()
	open := func(more string) string {
		return `{"type":"open","id":1,"from":"a.a.example.","to":"b.b.example.","tag":"0x00000001","round":1` + more + `}`
	}
	pairs := strings.TrimSuffix(strings.Repeat(`{"mine":"0x00000001","yours":"0x00000001"},`, MostPairs+1), ",")
	for _, c := range []struct {
		name, text string
		want       error
	}{
		{"is well", open(``), nil},
		{"an unknown field", open(`,"colour":{"red":[1,2]}`), nil},
		{"a key twice", open(`,"from":"c.a.example."`), ErrTwice},
		{"a key twice, once escaped", open(`,"fr\u006fm":"c.a.example."`), ErrTwice},
		{"a key twice, inside", open(`,"offer":{"name":"full","name":"edge"}`), ErrTwice},
		{"a key twice, in what nobody knows", open(`,"colour":[{"red":1,"red":2}]`), ErrTwice},
		{"a key in capitals", open(`,"From":"c.a.example."`), ErrMalformed},
		{"a key that folds to another", open(`,"ho\u017ft":"0000000000000001"`), ErrMalformed},
		{"deep", open(`,"x":` + strings.Repeat("[", 8) + strings.Repeat("]", 8)), ErrDeep},
		{"as deep as may be", open(`,"x":` + strings.Repeat("[", 7) + strings.Repeat("]", 7)), nil},
		{"deep without end", strings.Repeat("[", 60000), ErrDeep},
		{"no type", `{"id":1}`, ErrMalformed},
		{"a type that is no text", `{"type":1}`, ErrMalformed},
		{"no object", `["type"]`, ErrMalformed},
		{"nothing", ``, ErrMalformed},
		{"null", `null`, ErrMalformed},
		{"two objects", `{"type":"ping","id":1}{"type":"ping","id":2}`, ErrMalformed},
		{"something behind", `{"type":"ping","id":1}]`, ErrMalformed},
		{"not closed", `{"type":"ping","id":1`, ErrMalformed},
		{"not UTF-8", "{\"type\":\"leave\",\"reason\":\"\xff\"}", ErrMalformed},
		{"a negative id", `{"type":"ping","id":-1}`, ErrMalformed},
		{"a fraction", `{"type":"ping","id":1.5}`, ErrMalformed},
		{"a number without end", `{"type":"ping","id":1e999}`, ErrMalformed},
		{"a name in capitals", strings.Replace(open(``), "a.a.example.", "A.a.example.", 1), ErrMalformed},
		{"a name without its dot", strings.Replace(open(``), "a.a.example.", "a.a.example", 1), ErrMalformed},
		{"a wildcard", strings.Replace(open(``), "a.a.example.", "*.a.example.", 1), ErrMalformed},
		{"no name", `{"type":"open","id":1,"to":"b.b.example.","tag":"0x00000001","round":1}`, ErrMalformed},
		{"tag 0", strings.Replace(open(``), "0x00000001", "0x00000000", 1), ErrMalformed},
		{"a short tag", strings.Replace(open(``), "0x00000001", "0x1", 1), ErrMalformed},
		{"a tag with a sign", strings.Replace(open(``), "0x00000001", "0x+0000001", 1), ErrMalformed},
		{"round 3", strings.Replace(open(``), `"round":1`, `"round":3`, 1), ErrMalformed},
		{"a hold of two days", open(`,"hold":172800`), ErrMalformed},
		{"a word that is none", open(`,"require":{"vouched":"pinned!"}`), ErrMalformed},
		{"a word of later", open(`,"require":{"vouched":"notary"}`), nil},
		{"too many services", open(`,"offer":{"services":[` + strings.Repeat(`"icmp",`, MostServices) + `"icmp"]}`), ErrMalformed},
		{"too many pacts", `{"type":"close","reason":"idle","pacts":[` + pairs + `]}`, ErrMalformed},
		{"too many in two lists", `{"type":"renewed","pacts":[` + strings.Repeat(`{"mine":"0x00000001","yours":"0x00000001"},`, 299) + `{"mine":"0x00000001","yours":"0x00000001"}],"gone":[` +
			strings.Repeat(`{"mine":"0x00000001","yours":"0x00000001"},`, 299) + `{"mine":"0x00000001","yours":"0x00000001"}]}`, ErrMalformed},
		{"an epoch of eight bits", `{"type":"epoch","epoch":128}`, ErrMalformed},
		{"a text that moves the cursor", `{"type":"leave","reason":"\u001b[2J"}`, ErrMalformed},
		{"a long text", `{"type":"leave","reason":"` + strings.Repeat("x", MostText+1) + `"}`, ErrMalformed},
		{"too long", `{"type":"ping","id":1,"x":"` + strings.Repeat("x", Most) + `"}`, ErrTooLong},
	} {
		m, err := Decode([]byte(c.text))
		if !errors.Is(err, c.want) || (c.want == nil) != (m != nil) {
			t.Errorf("%s: got %v, %v, want %v", c.name, m, err, c.want)
		}
	}
}

// Who reads a frame takes no more memory than it may have, whatever its length says.
func TestFramesAreBounded(t *testing.T) {
	t.Parallel()
	if _, err := Read(bufio.NewReader(bytes.NewReader([]byte{0xff, 0xff, 0xff, 0xff}))); !errors.Is(err, ErrTooLong) {
		t.Errorf("got %v, want %v", err, ErrTooLong)
	}
	long := model.Name(strings.Repeat(strings.Repeat("x", 62)+".", 4))
	resume := Resume{Pacts: slices.Repeat([]Kept{{Pair{1, 1}, long, long}}, MostPairs)}
	if buf, err := Append([]byte("kept"), resume); !errors.Is(err, ErrTooLong) || string(buf) != "kept" {
		t.Errorf("got %d octets, %v, want %v", len(buf), err, ErrTooLong)
	}
	if buf, err := Append([]byte("kept"), Epoch{200}); !errors.Is(err, ErrMalformed) || string(buf) != "kept" {
		t.Errorf("got %d octets, %v, want %v", len(buf), err, ErrMalformed)
	}
}

// A newer edge says what an older one does not know (TestVersions has the range of versions).
func TestUnknownWords(t *testing.T) {
	t.Parallel()
	if m, err := Decode([]byte(`{"type":"evidence","count":3,"tags":["0x00000001"]}`)); m != nil || err != nil {
		t.Errorf("an unknown type: got %v, %v", m, err)
	}
	m, err := Decode([]byte(`{"type":"more","id":1,"require":{"vouched":"pinned","quantum":true,"audit":{"by":"x"}}}`))
	if more, ok := m.(More); err != nil || !ok || !slices.Equal(more.Require.Unknown, []string{"audit", "quantum"}) || more.Require.Vouched != "pinned" {
		t.Errorf("unknown requirements: got %+v, %v", m, err)
	}
	m, err = Decode([]byte(`{"type":"refuse","id":1,"reason":"full_moon"}`))
	if refuse, ok := m.(Refuse); err != nil || !ok || refuse.Reason.Known() {
		t.Errorf("an unknown reason: got %+v, %v", m, err)
	}
	if !RefusedBusy.Known() || len(Refusals) != 16 {
		t.Errorf("%d reasons are known", len(Refusals))
	}
}

// Whatever is kept is said, each message fits a frame, and all but the last say that more follows.
func TestResumesFitTheirFrames(t *testing.T) {
	t.Parallel()
	long := model.Name(strings.Repeat(strings.Repeat("x", 62)+".", 4))
	for _, c := range []struct {
		kept  []Kept
		least int
	}{
		{nil, 1}, {slices.Repeat([]Kept{{Pair{1, 2}, "a.", "b."}}, 512), 1}, {slices.Repeat([]Kept{{Pair{1, 2}, "a.", "b."}}, 513), 2},
		{slices.Repeat([]Kept{{Pair{1, 2}, long, long}}, 513), 5}, {slices.Repeat([]Kept{{Pair{1, 2}, long, "b."}}, 65535), 128},
	} {
		list, said := Resumes(c.kept), 0
		for i, m := range list {
			if _, err := Append(nil, m); err != nil {
				t.Errorf("%d pacts: message %d: %v", len(c.kept), i, err)
			}
			if said += len(m.Pacts); m.More != (i < len(list)-1) || len(m.Pacts) == 0 && len(c.kept) > 0 {
				t.Errorf("%d pacts: message %d of %d has %d, more: %v", len(c.kept), i, len(list), len(m.Pacts), m.More)
			}
		}
		if said != len(c.kept) || len(list) < c.least || len(list) > c.least+2+len(c.kept)/64 {
			t.Errorf("%d pacts: %d are said in %d messages", len(c.kept), said, len(list))
		}
	}
}

// Each bound of a message, kept and broken by one; what may be written is what may be read.
func TestBoundsOfMessages(t *testing.T) {
	t.Parallel()
	hello := func(change func(*Hello)) Message {
		m := messages[0].(Hello)
		change(&m)
		return m
	}
	open := func(change func(*Open)) Message {
		m := messages[2].(Open)
		change(&m)
		return m
	}
	zones := func(n int) []model.Name { return slices.Repeat([]model.Name{"a.example."}, n) }
	pairs := func(n int) []Pair { return slices.Repeat([]Pair{{1, 2}}, n) }
	locator := messages[0].(Hello).Locators[0]
	long := model.Name(strings.Repeat(strings.Repeat("x", 63)+".", 3) + strings.Repeat("x", 61) + ".")
	for name, c := range map[string]struct{ keeps, breaks Message }{
		"least version":  {hello(func(m *Hello) { m.Versions = [2]int{1, 1} }), hello(func(m *Hello) { m.Versions = [2]int{0, 1} })},
		"most version":   {hello(func(m *Hello) { m.Versions = [2]int{2, 3} }), hello(func(m *Hello) { m.Versions = [2]int{2, 1} })},
		"zones":          {hello(func(m *Hello) { m.Zones = zones(MostZones) }), hello(func(m *Hello) { m.Zones = zones(MostZones + 1) })},
		"a zone":         {hello(func(m *Hello) { m.Zones = nil }), hello(func(m *Hello) { m.Zones = []model.Name{""} })},
		"locators":       {hello(func(m *Hello) { m.Locators = slices.Repeat(m.Locators, MostLocators) }), hello(func(m *Hello) { m.Locators = slices.Repeat(m.Locators, MostLocators+1) })},
		"a locator":      {hello(func(m *Hello) { m.Locators = []Locator{{Address: locator.Address}} }), hello(func(m *Hello) { m.Locators = []Locator{{Address: locator.Address, Weight: -1}} })},
		"least vni":      {hello(func(m *Hello) { m.VNI = 1 }), hello(func(m *Hello) { m.VNI = 0 })},
		"most vni":       {hello(func(m *Hello) { m.VNI = MostVNI }), hello(func(m *Hello) { m.VNI = MostVNI + 1 })},
		"epoch":          {Epoch{MostEpoch}, Epoch{MostEpoch + 1}},
		"first epoch":    {hello(func(m *Hello) { m.Epoch = 0 }), hello(func(m *Hello) { m.Epoch = 128 })},
		"least mtu":      {hello(func(m *Hello) { m.MTU = LeastMTU }), hello(func(m *Hello) { m.MTU = LeastMTU - 1 })},
		"most mtu":       {hello(func(m *Hello) { m.MTU = MostMTU }), hello(func(m *Hello) { m.MTU = MostMTU + 1 })},
		"process":        {hello(func(m *Hello) { m.Process = "ffffffffffffffff" }), hello(func(m *Hello) { m.Process = "FFFFFFFFFFFFFFFF" })},
		"limits":         {hello(func(m *Hello) { m.Limits = Limits{} }), hello(func(m *Hello) { m.Limits.Opens = -1 })},
		"a word":         {hello(func(m *Hello) { m.Confidential = strings.Repeat("x", MostWord) }), hello(func(m *Hello) { m.Confidential = strings.Repeat("x", MostWord+1) })},
		"a name":         {open(func(m *Open) { m.From = long }), open(func(m *Open) { m.From = "x" + long })},
		"the pact":       {open(func(m *Open) { m.Pact = nil }), open(func(m *Open) { m.Pact = &Pair{1, 0} })},
		"hold":           {open(func(m *Open) { m.Hold = MostHold }), open(func(m *Open) { m.Hold = MostHold + 1 })},
		"hold of terms":  {More{1, Terms{Hold: MostHold}}, More{1, Terms{Hold: MostHold + 1}}},
		"services":       {More{1, Terms{Services: slices.Repeat([]string{"icmp"}, MostServices)}}, More{1, Terms{Services: slices.Repeat([]string{"icmp"}, MostServices+1)}}},
		"a service":      {Accept{1, 1, 1, Terms{Services: []string{"sctp/36412"}}}, Accept{1, 1, 1, Terms{Services: []string{""}}}},
		"tag":            {Accept{ID: 1, Tag: 1}, Accept{ID: 1}},
		"reason":         {Refuse{Reason: "x"}, Refuse{}},
		"text":           {Refuse{Reason: "x", Text: strings.Repeat("x", MostText)}, Refuse{Reason: "x", Text: strings.Repeat("x", MostText+1)}},
		"pacts to close": {Close{Pacts: pairs(MostPairs)}, Close{Pacts: pairs(MostPairs + 1)}},
		"why closed":     {Close{Reason: "idle"}, Close{Reason: "idle\n"}},
		"least lease":    {Renew{Hold: 1}, Renew{}},
		"both lists":     {Renewed{pairs(256), pairs(256)}, Renewed{pairs(256), pairs(257)}},
		"kept":           {Resume{Pacts: []Kept{{Pair{1, 2}, "a.", "b."}}}, Resume{Pacts: []Kept{{Pair{1, 2}, "a.", "B."}}}},
		"gone":           {Resumed{pairs(MostPairs)}, Resumed{pairs(MostPairs + 1)}},
		"size":           {Probed{1, MostMTU}, Probed{1, MostMTU + 1}},
		"leave":          {Leave{}, Leave{"\x1b[2J"}},
	} {
		frame, err := Append(nil, c.keeps)
		if err == nil {
			_, err = Decode(frame[4:])
		}
		if err != nil {
			t.Errorf("%s, kept: %v", name, err)
		}
		body, err := json.Marshal(c.breaks)
		if err != nil {
			t.Fatal(err)
		}
		_, read := Decode([]byte(`{"type":"` + c.breaks.Type() + `",` + string(body[1:])))
		if _, written := Append(nil, c.breaks); !errors.Is(written, ErrMalformed) || !errors.Is(read, ErrMalformed) {
			t.Errorf("%s, broken: written %v, read %v", name, written, read)
		}
	}
}
