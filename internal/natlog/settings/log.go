package settings

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/schema"
)

const (
	mostSinks = 8
	day       = 24 * time.Hour
	mostDays  = 3660
)

// Log is what is logged, and where it goes. Without sinks nothing is.
type Log struct {
	Destinations bool // sessions, with whom hosts spoke
	Sinks        []Sink
}

// Sink is where records go: exactly one of Directory, Syslog and IPFIX is given.
type Sink struct {
	Name      string        // unique
	Directory string        // absolute path
	Keep      time.Duration // whole days, of a directory
	Syslog    Collector
	IPFIX     Collector
	CA        string // absolute path of PEM, of whom a collector has its certificate; empty: those of the system
}

// Collector is who takes records over a network. The zero value is nobody.
type Collector struct {
	Network string // udp, tcp or tls
	Host    string // host:port
}

// String is the form in which it was given.
func (c Collector) String() string {
	if c == (Collector{}) {
		return ""
	}
	return c.Network + "://" + c.Host
}

type entry struct {
	schema.Begun
	sink                                              Sink
	nameLine, directoryLine, keepLine, syslog, export int
	caLine                                            int
}

func (e *entry) keys() []schema.Key {
	e.sink.Keep = 180 * day
	return []schema.Key{
		schema.OneAt("name", &e.sink.Name, &e.nameLine, schema.Label()).Must(),
		schema.Noting(&e.directoryLine, schema.One("directory", &e.sink.Directory, schema.AbsolutePath()).Otherwise("none")),
		schema.Noting(&e.keepLine, schema.One("keep", &e.sink.Keep, days())),
		schema.Noting(&e.syslog, schema.One("syslog", &e.sink.Syslog, collector("514")).Otherwise("none")),
		schema.Noting(&e.export, schema.One("ipfix", &e.sink.IPFIX, collector("4739")).Otherwise("none")),
		schema.Noting(&e.caLine, schema.One("ca", &e.sink.CA, schema.AbsolutePath()).Otherwise("those of the system")),
	}
}

// days is how long something is kept.
func days() schema.Kind[time.Duration] {
	want := fmt.Sprintf("a number of days, 1d to %dd", mostDays)
	return schema.Kind[time.Duration]{
		Name: "days", Allowed: fmt.Sprintf("1d to %dd", mostDays), Want: want, Tags: schema.TextTag,
		Show: func(d time.Duration) string { return fmt.Sprintf("%dd", d/day) },
		Parse: func(text string) (time.Duration, error) {
			number, unit := strings.CutSuffix(text, "d")
			n, err := strconv.Atoi(number)
			if err != nil || !unit || n < 1 || n > mostDays {
				return 0, schema.ErrNoHint
			}
			return time.Duration(n) * day, nil
		},
	}
}

// collector is a URL of one; port is where they listen.
func collector(port string) schema.Kind[Collector] {
	return schema.Kind[Collector]{
		Name: "collector", Allowed: "udp://, tcp:// or tls://, and host:port", Want: "where a collector is (udp://192.0.2.9:" + port + ")",
		Tags: schema.TextTag,
		Show: Collector.String,
		Parse: func(text string) (Collector, error) {
			u, err := url.Parse(text)
			if err != nil || u.Scheme != "udp" && u.Scheme != "tcp" && u.Scheme != "tls" || len(text) > schema.LongestURL {
				return Collector{}, schema.ErrNoHint
			}
			_, number, err := net.SplitHostPort(u.Host)
			if n, notNumber := strconv.ParseUint(number, 10, 16); err != nil || notNumber != nil || n == 0 || u.Hostname() == "" {
				return Collector{}, errors.New("give host and port")
			}
			if u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
				return Collector{}, errors.New("give nothing but host and port")
			}
			return Collector{u.Scheme, u.Host}, nil
		},
	}
}

// Draft is `log`.
type Draft struct {
	log     *Log
	entries []*entry
}

// New makes a draft whose values go to log.
func New(log *Log) *Draft { return &Draft{log: log} }

// Keys implements schema.Draft.
func (d *Draft) Keys() []schema.Key {
	return []schema.Key{schema.Section("log",
		schema.One("destinations", &d.log.Destinations, schema.Boolean()),
		schema.ListOf("sinks", &d.entries, (*entry).keys).Most(mostSinks),
	)}
}

// Finish implements schema.Draft.
func (d *Draft) Finish(faults *schema.Faults) {
	taken := schema.Names{}
	folders := schema.Once[string]{}
	for i, e := range d.entries {
		path := fmt.Sprintf("log.sinks[%d]", i)
		taken.Take(faults, path, e.sink.Name, e.nameLine)
		if e.sink.Directory != "" {
			folders.Take(faults, path+".directory", e.sink.Directory, e.directoryLine)
		}
		e.check(faults, path)
		if e.directoryLine == 0 {
			e.sink.Keep = 0
		}
		d.log.Sinks = append(d.log.Sinks, e.sink)
	}
}

func (e *entry) check(faults *schema.Faults, path string) {
	given := min(e.directoryLine, 1) + min(e.syslog, 1) + min(e.export, 1)
	if e.Line > 0 && given != 1 {
		faults.Add(e.Line, "%s: give one of directory, syslog and ipfix, not %d of them", path, given)
	}
	if e.keepLine > 0 && e.directoryLine == 0 {
		faults.Add(e.keepLine, "%s.keep: only a directory keeps anything", path)
	}
	if e.caLine > 0 && e.sink.Syslog.Network != "tls" && e.sink.IPFIX.Network != "tls" {
		faults.Add(e.caLine, "%s.ca: only a collector by tls:// has a certificate", path)
	}
}
