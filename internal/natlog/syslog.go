package natlog

import (
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/realmgate/realmgate/internal/natlog/settings"
)

const (
	syslogPriority = 16<<3 | 6   // local0, informational
	syslogID       = "nat@32473" // of structured data; the number is the one for documentation (RFC 5612)
	syslogRoom     = 64 << 10    // octets that are written at once to a connection
)

// syslog is an outlet to a syslog server: RFC 5424, in datagrams, or counted by octets (RFC 6587, 5425).
type syslog struct {
	link
	host string
	text []byte
}

func newSyslog(s settings.Sink) *syslog {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "-"
	}
	return &syslog{link: link{to: s.Syslog, ca: s.CA}, host: host}
}

// deliver implements outlet.
func (o *syslog) deliver(ctx context.Context, records []Record) (int, error) {
	if err := o.look(); err != nil || len(records) == 0 {
		return 0, err
	}
	if _, err := o.open(ctx); err != nil {
		return 0, err
	}
	o.sent = 0
	done := 0
	o.text = o.text[:0]
	for i := range records {
		message := appendSyslog(nil, &records[i], o.host)
		if !o.isDatagram() {
			o.text = strconv.AppendInt(o.text, int64(len(message)), 10)
			o.text = append(o.text, ' ')
		}
		o.text = append(o.text, message...)
		if !o.isDatagram() && len(o.text) < syslogRoom && i < len(records)-1 {
			continue
		}
		if err := o.write(o.text, i+1-done); err != nil {
			return done, err
		}
		done = i + 1
		o.text = o.text[:0]
	}
	return done, nil
}

// close implements outlet.
func (o *syslog) close(context.Context) error {
	o.drop()
	return nil
}

// appendSyslog writes a record as RFC 5424 has it. What it says stands in the structured data; the message says it in short.
func appendSyslog(b []byte, r *Record, host string) []byte {
	b = append(b, '<')
	b = strconv.AppendInt(b, syslogPriority, 10)
	b = append(b, ">1 "...)
	b = r.Time.UTC().AppendFormat(b, timeForm)
	b = append(b, ' ')
	b = append(b, host...)
	b = append(b, " realmgate - "...)
	b = append(b, r.Kind.String()...)
	b = append(b, " ["+syslogID...)
	for _, p := range r.parameters() {
		if p[1] != "" {
			b = append(b, ' ')
			b = append(b, p[0]...)
			b = append(b, `="`...)
			b = append(b, escape.Replace(p[1])...)
			b = append(b, '"')
		}
	}
	b = append(b, "] "...)
	return append(b, r.short()...)
}

// escape is of RFC 5424 §6.3.3.
var escape = strings.NewReplacer(`"`, `\"`, `\`, `\\`, `]`, `\]`)

// parameters are names and values.
func (r *Record) parameters() [][2]string {
	list := [][2]string{}
	if r.External.IsValid() {
		list = append(list, [2]string{"protocol", r.Protocol.String()}, [2]string{"external", r.External.String()})
	}
	if r.Private.IsValid() {
		list = append(list, [2]string{"private", r.Private.String()})
	}
	if r.Remote.IsValid() {
		list = append(list, [2]string{"remote", r.Remote.String()})
	}
	list = append(list, [2]string{"host", r.Host}, [2]string{"name", r.Name}, [2]string{"reason", r.Reason})
	if r.Asker.IsValid() {
		list = append(list, [2]string{"asker", r.Asker.String()})
	}
	if r.Client.IsValid() {
		list = append(list, [2]string{"client", r.Client.String()})
	}
	if r.Count > 0 {
		list = append(list, [2]string{"count", strconv.FormatUint(r.Count, 10)})
	}
	return append(list, [2]string{"synchronised", strconv.FormatBool(r.Synchronised)})
}

// short is what servers show that leave structured data out.
func (r *Record) short() string {
	words := []string{r.Kind.String()}
	if r.External.IsValid() {
		words = append(words, r.Protocol.String(), r.External.String(), "is")
	}
	if r.Private.IsValid() {
		words = append(words, r.Private.String())
	}
	for _, word := range []string{r.Host, r.Reason} {
		if word != "" {
			words = append(words, word)
		}
	}
	if r.Count > 0 {
		words = append(words, strconv.FormatUint(r.Count, 10))
	}
	return strings.Join(words, " ")
}
