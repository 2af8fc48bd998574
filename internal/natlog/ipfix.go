package natlog

import (
	"context"
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/natlog/settings"
)

// IPFIX (RFC 7011) is written by hand: three templates and their records are less than what any library of it needs to be told.

const (
	ipfixVersion   = 10
	ipfixMost      = 1400 // octets of a message: it is one packet
	ipfixHeader    = 16
	setHeader      = 4
	templateSet    = 2
	optionsSet     = 3
	againAfter     = time.Minute // that templates are told by datagrams, and
	againMessages  = 1000        // after so many messages, and how much was lost
	exportingScope = 1           // the process of which the option speaks
)

// Numbers of templates.
const (
	mappingTemplate = 256 + iota
	sessionTemplate
	quotaTemplate
	lostTemplate
)

// field is an information element of IANA's list, and its octets.
type field struct{ element, octets uint16 }

var (
	timeField    = field{323, 8} // observationTimeMilliseconds
	eventField   = field{230, 1} // natEvent
	mappingBegin = []field{
		timeField, eventField,
		{4, 1},   // protocolIdentifier
		{8, 4},   // sourceIPv4Address
		{7, 2},   // sourceTransportPort
		{225, 4}, // postNATSourceIPv4Address
		{227, 2}, // postNAPTSourceTransportPort
	}
	templates = map[uint16][]field{
		mappingTemplate: mappingBegin,
		sessionTemplate: append(mappingBegin[:len(mappingBegin):len(mappingBegin)],
			field{12, 4}, // destinationIPv4Address
			field{11, 2}, // destinationTransportPort
		),
		quotaTemplate: {
			timeField, eventField,
			{8, 4},
			{466, 4}, // natQuotaExceededEvent
		},
		lostTemplate: {
			{144, 4}, // exportingProcessId, the scope
			{168, 8}, // notSentFlowTotalCount
		},
	}
)

// Values of natEvent (RFC 8158 §4.1).
var natEvents = map[Kind]uint8{
	SessionBegun: 4, SessionEnded: 5, MappingBegun: 8, MappingEnded: 9, AddressLent: 14, AddressReturned: 15,
}

const (
	portsExhausted = 12
	quotaExceeded  = 13
)

// Values of natQuotaExceededEvent (RFC 8158 §4.2).
var quotas = map[string]uint32{
	string(model.ReasonDropSessionTableFull): 1, string(model.ReasonDropSessionIndexFull): 1, string(model.ReasonDropMappingIndexFull): 2,
	string(model.ReasonDropHostPorts): 3, string(model.ReasonDropHostSessions): 3, string(model.ReasonDropMappingSessions): 3,
}

// ipfix is an outlet to a collector.
type ipfix struct {
	link
	now      func() time.Time
	sequence uint32 // records sent: by a connection, or by all datagrams
	messages int    // since the templates
	told     time.Time
	notSent  uint64
	said     uint64 // of these
}

func newIPFIX(s settings.Sink, now func() time.Time) *ipfix {
	return &ipfix{link: link{to: s.IPFIX, ca: s.CA}, now: now}
}

// deliver implements outlet.
func (o *ipfix) deliver(ctx context.Context, records []Record) (int, error) {
	if err := o.look(); err != nil {
		return 0, o.count(err)
	}
	again := o.refused
	fresh, err := o.open(ctx)
	if err != nil {
		return 0, err
	}
	if fresh && !o.isDatagram() { // RFC 7011 §3.1: each connection counts for itself
		o.sequence = 0
	}
	if err := o.tell(fresh); err != nil {
		return 0, err
	}
	if fresh && again { // the templates may be refused as well: no records, then
		select {
		case <-ctx.Done():
		case <-time.After(answerTime):
		}
		if err := o.look(); err != nil {
			return 0, o.count(err)
		}
	}
	if len(records) > 0 {
		o.sent = 0
	}
	done := 0
	for done < len(records) {
		m := newMessage()
		next, lost := done, uint64(0)
		for next < len(records) && m.add(&records[next]) {
			if records[next].Kind == Lost {
				lost += records[next].Count
			}
			next++
		}
		if m.records > 0 {
			if err := o.send(m); err != nil {
				return done, err
			}
		}
		done = next
		o.notSent += lost // once, also where a message has to be sent again
		if err := o.tell(false); err != nil {
			return done, err
		}
	}
	return done, nil
}

// tell sends the templates and what was lost, where it is time for that.
func (o *ipfix) tell(fresh bool) error {
	again := o.isDatagram() && (o.messages >= againMessages || o.now().Sub(o.told) >= againAfter)
	if !fresh && !again && o.said == o.notSent {
		return nil
	}
	m := newMessage()
	if fresh || again {
		m.templates()
		o.messages, o.told = 0, o.now()
	}
	m.lost(o.notSent)
	o.said = o.notSent
	return o.send(m)
}

func (o *ipfix) send(m *message) error {
	events := m.records - m.options
	err := o.write(m.finish(o.now(), o.sequence), events)
	if err != nil {
		return o.count(err)
	}
	o.sequence += uint32(m.records)
	o.messages++
	return nil
}

// count counts what has not arrived.
func (o *ipfix) count(err error) error {
	o.notSent += uint64(o.missed)
	return err
}

// close implements outlet.
func (o *ipfix) close(context.Context) error {
	o.drop()
	return nil
}

// message is one on its way to be sent.
type message struct {
	text    []byte
	set     int // where the last set begins, 0: there is none
	records int
	options int // of these, those that are not about a flow
}

func newMessage() *message { return &message{text: make([]byte, ipfixHeader, ipfixMost)} }

// begin begins a set, unless it is the last.
func (m *message) begin(id uint16) {
	if m.set > 0 && binary.BigEndian.Uint16(m.text[m.set:]) == id {
		return
	}
	m.end()
	m.set = len(m.text)
	m.text = binary.BigEndian.AppendUint16(m.text, id)
	m.text = append(m.text, 0, 0)
}

func (m *message) end() {
	if m.set > 0 {
		binary.BigEndian.PutUint16(m.text[m.set+2:], uint16(len(m.text)-m.set))
	}
	m.set = 0
}

func (m *message) templates() {
	for id := uint16(mappingTemplate); id < lostTemplate; id++ {
		m.begin(templateSet)
		m.numbers(id, uint16(len(templates[id])))
		m.fields(templates[id])
	}
	m.begin(optionsSet)
	m.numbers(lostTemplate, uint16(len(templates[lostTemplate])), 1) // of which one is the scope
	m.fields(templates[lostTemplate])
	m.text = append(m.text, make([]byte, (4-len(m.text)%4)%4)...)
}

func (m *message) numbers(all ...uint16) {
	for _, n := range all {
		m.text = binary.BigEndian.AppendUint16(m.text, n)
	}
}

func (m *message) fields(all []field) {
	for _, f := range all {
		m.numbers(f.element, f.octets)
	}
}

// lost says how many records were not sent.
func (m *message) lost(n uint64) {
	m.begin(lostTemplate)
	m.text = binary.BigEndian.AppendUint32(m.text, exportingScope)
	m.text = binary.BigEndian.AppendUint64(m.text, n)
	m.records++
	m.options++
}

// longestRecord is that of a session, with a set of its own.
const longestRecord = 28 + setHeader

// add writes a record, unless there is no room for it. What collectors do not know is passed over.
func (m *message) add(r *Record) bool {
	if len(m.text)+longestRecord > ipfixMost {
		return false
	}
	event, known := natEvents[r.Kind]
	switch {
	case r.Kind == Refused && r.Private.IsValid():
		m.refused(r)
		return true
	case !known || !r.External.Addr().Is4() || !r.Private.Addr().Is4():
		return true
	case r.Kind == SessionBegun || r.Kind == SessionEnded:
		m.begin(sessionTemplate)
	default:
		m.begin(mappingTemplate)
	}
	m.at(r.Time, event)
	m.text = append(m.text, byte(r.Protocol))
	m.endpoint(r.Private)
	m.endpoint(r.External)
	if r.Kind == SessionBegun || r.Kind == SessionEnded {
		m.endpoint(r.Remote)
	}
	m.records++
	return true
}

func (m *message) refused(r *Record) {
	event, quota := uint8(quotaExceeded), quotas[r.Reason]
	if quota == 0 {
		event = portsExhausted
	}
	m.begin(quotaTemplate)
	m.at(r.Time, event)
	m.text = append(m.text, r.Private.Addr().AsSlice()...)
	m.text = binary.BigEndian.AppendUint32(m.text, quota)
	m.records++
}

func (m *message) at(t time.Time, event uint8) {
	m.text = binary.BigEndian.AppendUint64(m.text, uint64(milli(t)))
	m.text = append(m.text, event)
}

func (m *message) endpoint(a netip.AddrPort) {
	m.text = append(m.text, a.Addr().AsSlice()...)
	m.text = binary.BigEndian.AppendUint16(m.text, a.Port())
}

// finish writes the header. sequence: how many records were sent before.
func (m *message) finish(now time.Time, sequence uint32) []byte {
	m.end()
	binary.BigEndian.PutUint16(m.text, ipfixVersion)
	binary.BigEndian.PutUint16(m.text[2:], uint16(len(m.text)))
	binary.BigEndian.PutUint32(m.text[4:], uint32(now.Unix()))
	binary.BigEndian.PutUint32(m.text[8:], sequence)
	return m.text
}
