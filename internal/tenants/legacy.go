package tenants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// legacyTables are the tables that iptables-legacy has made in this network namespace.
const legacyTables = "/proc/thread-self/net/ip_tables_names"

// readLegacy reads the chains of iptables-legacy, where there are any. Only its own program can.
func readLegacy() ([]*chain, error) {
	names, err := os.ReadFile(legacyTables)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("read the tables of iptables (legacy): %w", err)
	}
	if err != nil || !slices.ContainsFunc(strings.Fields(string(names)), func(t string) bool { return t == "filter" || t == "nat" }) {
		return nil, nil //nolint:nilerr // the kernel has no such tables
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	saved, err := exec.CommandContext(ctx, "iptables-legacy-save").Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, errors.New("iptables (legacy) has rules, and iptables-legacy-save is not there to read them: install iptables")
	}
	if err != nil {
		return nil, fmt.Errorf("read the rules of iptables: %w", err)
	}
	return parseLegacy(saved), nil
}

// parseLegacy reads what iptables-save writes.
func parseLegacy(saved []byte) (list []*chain) {
	table, chains := "", map[string]*chain{}
	for line := range bytes.Lines(saved) {
		words := strings.Fields(string(line))
		switch {
		case len(words) == 0:
		case words[0][0] == '*':
			table, chains = words[0][1:], map[string]*chain{}
		case words[0][0] == ':' && len(words) > 1:
			c := &chain{family: "ip", table: table, name: words[0][1:], legacy: true, drops: words[1] == "DROP", others: chains}
			if table == "filter" && c.name == "FORWARD" {
				c.hook = forward
			} else if table == "nat" && c.name == "POSTROUTING" {
				c.hook = postrouting
			}
			chains[c.name] = c
			list = append(list, c)
		case words[0] == "-A" && len(words) > 1 && chains[words[1]] != nil:
			c := chains[words[1]]
			c.rules = append(c.rules, parseLegacyRule(words[2:]))
		}
	}
	return list
}

func parseLegacyRule(words []string) (r rule) {
	inverted := false
	for len(words) > 0 {
		key, value := words[0], ""
		if len(words) > 1 {
			value = words[1]
		}
		not := inverted
		inverted = false
		switch key {
		case "!":
			inverted = true
			words = words[1:]
			continue
		case "-i", "-o":
			in := key == "-i"
			r.conditions = append(r.conditions, func(f flow) answer {
				name := f.out
				if in {
					name = f.in
				}
				return is(matches(value, name) != not)
			})
		case "-s":
			from, ok := addressOf(value)
			r.conditions = append(r.conditions, func(f flow) answer {
				if !ok || !f.source.IsValid() {
					return maybe
				}
				return is(from.Contains(f.source) != not)
			})
		case "-j", "-g":
			r.action, r.target = legacyAction(value), value
			return r // what follows are options of the target
		default:
			r.conditions = append(r.conditions, perhaps)
			words = words[1:]
			continue
		}
		words = words[min(2, len(words)):]
	}
	return r
}

func legacyAction(target string) action {
	switch target {
	case "ACCEPT":
		return accept
	case "DROP", "REJECT":
		return drop
	case "MASQUERADE", "SNAT":
		return translate
	case "RETURN":
		return leave
	}
	return jump // to a chain, or what lets the packet go on
}

// matches compares a name with one that may end in +.
func matches(pattern, name string) bool {
	if begin, open := strings.CutSuffix(pattern, "+"); open {
		return strings.HasPrefix(name, begin)
	}
	return pattern == name
}
