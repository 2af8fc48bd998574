package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// digest is what people are told of the lines of several events at once.
type digest struct {
	subject string
	count   int      // events
	lost    uint64   // before and between them
	kinds   []string // how many of each, the most first
	lines   []string // one for each event, as people read them
}

// digestOf reads lines as a record writes them. All that they have is printable then: it may be what strangers sent.
func digestOf(lines [][]byte) digest {
	d := digest{count: len(lines)}
	counts, order, instance := map[string]int{}, []string{}, ""
	for _, line := range lines {
		e := readEvent(line)
		d.lost += e.Lost
		instance = e.Instance
		if counts[e.Kind] == 0 {
			order = append(order, e.Kind)
		}
		counts[e.Kind]++
		d.lines = append(d.lines, e.text)
	}
	slices.SortStableFunc(order, func(a, b string) int { return counts[b] - counts[a] })
	for _, kind := range order {
		d.kinds = append(d.kinds, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	switch {
	case len(lines) == 1 && d.lost == 0:
		d.subject = fmt.Sprintf("realmgate %s: %s", instance, order[0])
	default:
		d.subject = fmt.Sprintf("realmgate %s: %s", instance, strings.Join(d.kinds, ", "))
	}
	return d
}

// text is the digest in at most so many UTF-16 units, as Telegram counts them, of which there are no more than octets.
func (d digest) text(most int) string {
	const spare = 160 // for the first line and the last
	var b strings.Builder
	if d.count > 1 || d.lost > 0 {
		fmt.Fprintf(&b, "%d events: %s", d.count, strings.Join(d.kinds, ", "))
		if d.lost > 0 {
			fmt.Fprintf(&b, "; %d more were lost", d.lost)
		}
		b.WriteString("\n\n")
	}
	for i, line := range d.lines {
		if left := most - spare - b.Len(); len(line) > left && i == 0 {
			line = strings.ToValidUTF8(line[:max(0, left)], "") + " …"
		} else if len(line) > left {
			fmt.Fprintf(&b, "… and %d more\n", len(d.lines)-i)
			break
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// told is an event as a digest has it.
type told struct {
	header
	text string
}

// readEvent has the fields of an event in their order, but for those that tell people nothing.
func readEvent(line []byte) (e told) {
	if err := json.Unmarshal(line, &e.header); err != nil {
		return told{text: "an event that cannot be read"} // its line is ours
	}
	parts := []string{e.Time, e.Kind}
	decoder := json.NewDecoder(bytes.NewReader(line))
	_, _ = decoder.Token() // the brace
	for decoder.More() {
		name, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			break
		}
		switch name {
		case "time", "kind", "instance", "sequence", "lost":
		default:
			parts = append(parts, fmt.Sprintf("%s=%s", name, plain(value)))
		}
	}
	e.text = printable(strings.Join(parts, " "))
	return e
}

// plain is a value without the quotes and brackets of JSON, where nothing in it needs them.
func plain(value json.RawMessage) string {
	var list []string
	var text string
	switch {
	case json.Unmarshal(value, &list) == nil:
		return strings.Join(list, ",")
	case json.Unmarshal(value, &text) == nil && !strings.ContainsAny(text, " =\""):
		return text
	}
	return string(value)
}

func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, text)
}
