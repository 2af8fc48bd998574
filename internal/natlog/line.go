package natlog

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// timeForm is that of every line: RFC 3339, UTC, with milliseconds.
const timeForm = "2006-01-02T15:04:05.000Z07:00"

// appendLine writes a record as a JSON object in a line. It is written by hand, as there may be 10⁸ a day.
func (r *Record) appendLine(b []byte) []byte {
	b = append(b, `{"time":"`...)
	b = r.Time.UTC().AppendFormat(b, timeForm)
	b = append(b, `","kind":"`...)
	b = append(b, r.Kind.String()...)
	b = append(b, '"')
	if r.External.IsValid() {
		b = append(b, `,"protocol":"`...)
		b = append(b, r.Protocol.String()...)
		b = append(b, '"')
	}
	b = appendEndpoint(b, "external", r.External)
	b = appendEndpoint(b, "private", r.Private)
	b = appendEndpoint(b, "remote", r.Remote)
	b = appendText(b, "host", r.Host)
	b = appendText(b, "name", r.Name)
	b = appendAddress(b, "asker", r.Asker)
	b = appendAddress(b, "client", r.Client)
	b = appendText(b, "reason", r.Reason)
	if r.Count > 0 {
		b = append(b, `,"count":`...)
		b = strconv.AppendUint(b, r.Count, 10)
	}
	if r.Adopted {
		b = append(b, `,"adopted":true`...)
	}
	b = append(b, `,"synchronised":`...)
	b = strconv.AppendBool(b, r.Synchronised)
	return append(b, '}', '\n')
}

func appendEndpoint(b []byte, name string, a netip.AddrPort) []byte {
	if !a.IsValid() {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":"`...)
	b = a.AppendTo(b)
	return append(b, '"')
}

func appendAddress(b []byte, name string, a netip.Addr) []byte {
	if !a.IsValid() {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":"`...)
	b = a.AppendTo(b)
	return append(b, '"')
}

// appendText leaves out what is empty.
func appendText(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":`...)
	quoted, _ := json.Marshal(text) // a string always can be written
	return append(b, quoted...)
}

// written is a line as it is read again.
type written struct {
	Time         time.Time      `json:"time"`
	Kind         string         `json:"kind"`
	Protocol     model.Protocol `json:"protocol"`
	External     netip.AddrPort `json:"external"`
	Private      netip.AddrPort `json:"private"`
	Host         string         `json:"host"`
	Name         string         `json:"name"`
	Count        uint64         `json:"count"`
	Adopted      bool           `json:"adopted"`
	Synchronised bool           `json:"synchronised"`
}

// readLine reads what a search needs of a line.
func readLine(line []byte) (Record, error) {
	var w written
	if err := json.Unmarshal(line, &w); err != nil {
		return Record{}, fmt.Errorf("read a line of the log: %w", err)
	}
	r := Record{
		Time: w.Time, Protocol: w.Protocol, External: w.External, Private: w.Private, Host: w.Host, Name: w.Name,
		Count: w.Count, Adopted: w.Adopted, Synchronised: w.Synchronised,
	}
	for k := range kinds {
		if kindNames[k] == w.Kind {
			r.Kind = k
			return r, nil
		}
	}
	return Record{}, fmt.Errorf("read a line of the log: no kind is called %q", w.Kind)
}
