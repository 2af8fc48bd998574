package api

import (
	"encoding/json"
	"strconv"
	"time"
)

// AppendLine appends the flow as encoding/json writes it, as there may be tens of thousands a second.
func (f *Flow) AppendLine(b []byte) ([]byte, error) {
	year := f.Time.Year()
	if !f.isPlain() || f.Time.Location() != time.UTC || year < 0 || year > 9999 {
		line, err := json.Marshal(f)
		return append(b, line...), err
	}
	b = f.Time.AppendFormat(append(b, `{"time":"`...), time.RFC3339Nano)
	b = append(append(b, `","event":"`...), f.Event...)
	b = append(append(b, `","verdict":"`...), f.Verdict...)
	b = append(b, '"')
	b = appendMember(b, `,"reason":"`, string(f.Reason))
	b = append(append(b, `,"protocol":"`...), f.Protocol.String()...)
	b = append(appendEndpoint(append(b, `","from":"`...), f.From), '"')
	b = appendMember(b, `,"from_name":"`, f.FromName)
	b = append(appendEndpoint(append(b, `,"to":"`...), f.To), '"')
	b = appendMember(b, `,"to_name":"`, f.ToName)
	if f.Via.IsValid() {
		b = append(appendEndpoint(append(b, `,"via":"`...), f.Via), '"')
	}
	b = appendMember(b, `,"state":"`, f.State)
	b = appendMember(b, `,"origin":"`, f.Origin)
	b = appendMember(b, `,"host":"`, f.Host)
	b = appendMember(b, `,"name":"`, f.Name)
	b = appendMember(b, `,"country":"`, f.Country)
	if f.Lost > 0 {
		b = strconv.AppendUint(append(b, `,"lost":`...), f.Lost, 10)
	}
	return append(b, '}'), nil
}

// appendMember leaves out what is empty.
func appendMember(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return append(append(append(b, name...), text...), '"')
}

func (f *Flow) isPlain() bool {
	for _, text := range []string{f.Event, f.Verdict, string(f.Reason), f.FromName, f.ToName, f.State, f.Origin, f.Host, f.Name, f.Country} {
		if !isPlain(text) {
			return false
		}
	}
	return f.From.Addr().Zone() == "" && f.To.Addr().Zone() == "" && f.Via.Addr().Zone() == ""
}
