package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

func newStatus(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "status",
		Short: "Show how the gateway is",
		Long: `Show how the gateway is: how full its tables are, how each interface is served,
how packets ended, and what to do about what is wrong.

docs/reference/counters.md explains the reasons.`,
		Example: `  realmgate status
  realmgate status --watch 2s
  realmgate status -o json | jq .sessions`,
		Args: cobra.NoArgs,
	}
	output := outputFlag(command)
	var every periodFlag
	command.Flags().Var(&every, "watch", "show it again every `TIME`, as 2s, until Ctrl-C")
	show := func(ctx context.Context, w io.Writer) error {
		s, err := a.client().Status(ctx)
		if err != nil {
			return err
		}
		slices.Sort(s.Warnings)
		if output.value == "json" {
			return writeJSON(w, s)
		}
		parts := []string{statusHead(s, a.now()), statusWarnings(s), statusTables(s), statusInterfaces(s), statusOutbound(s), statusNames(s), statusWeb(s), statusReasons(s)}
		if s.Single() { // the rest is of hosts inside
			parts = []string{parts[0], parts[1], statusInterfaces(s), statusReasons(s)}
			if s.Flows() {
				parts = slices.Insert(parts, 2, statusTables(s))
			}
		}
		_, err = io.WriteString(w, strings.Join(parts, ""))
		return written(err)
	}
	command.RunE = does(func(ctx context.Context) error {
		if every == 0 {
			return show(ctx, a.stdout)
		}
		return watch(ctx, a.stdout, a.stderr, time.Duration(every), show)
	})
	return command
}

func statusHead(s client.Status, now time.Time) string {
	adopted := ""
	if s.Adopted {
		adopted = "; it took over the sessions of an earlier process"
	}
	text := fmt.Sprintf("Gateway %s, version %s, has run for %s as process %d%s.\nConfiguration %s, generation %d.\n",
		plain(s.Instance), plain(s.Version), span(now.Sub(s.Started).Seconds()), s.PID, adopted, plain(s.Config), s.Generation)
	for i, c := range s.ChangedChains {
		if i == 0 {
			text += "Changed by command, not in that file (realmgate chain save writes it there):\n"
		}
		text += fmt.Sprintf("- chain %s: %s\n", plain(c.Chain), plain(strings.Join(c.Changes, ", ")))
	}
	if u := s.Unconfirmed; u != nil {
		text += fmt.Sprintf("A reload by %s is undone in %s, unless this follows: realmgate confirm\n", plain(u.By), span(u.Seconds))
	}
	return text
}

func statusWarnings(s client.Status) string {
	if len(s.Warnings) == 0 {
		return ""
	}
	text := "\nWARNINGS\n"
	for _, warning := range s.Warnings {
		text += "- " + plain(warning) + "\n"
	}
	return text
}

func statusTables(s client.Status) string {
	t := newTable("TABLE", ">USED", ">CAPACITY", ">FULL")
	type table struct {
		name  string
		gauge client.Gauge
		good  bool // full is well: nothing is said of it
	}
	rows := []table{
		{"sessions", s.Sessions, false},
		{"mappings", s.Mappings, false},
		{"reservations", s.Half, false},
		{"pool addresses", s.Addresses, false},
		{"pool services", s.Places, true}, // each has an address
	}
	if s.Registered != nil {
		rows = append(rows, table{"registered hosts", *s.Registered, false})
	}
	if s.Single() {
		rows = rows[:1]
	}
	for _, row := range rows {
		capacity, full := "no limit", ""
		if row.gauge.Capacity > 0 {
			capacity = count(row.gauge.Capacity)
			if !row.good {
				full = percent(row.gauge)
			}
		}
		t.add(row.name, count(row.gauge.Used), capacity, full)
	}
	chains := ""
	if s.ChainBytes > 0 {
		chains = fmt.Sprintf(", and the chains %s more", memory(s.ChainBytes))
	}
	return fmt.Sprintf("\n%sThe tables take %s%s.\n", t, memory(s.Bytes), chains)
}

// percent says 0 and 100 only of what is empty and full.
func percent(g client.Gauge) string {
	full := 100 * float64(g.Used) / float64(g.Capacity)
	switch {
	case g.Used > 0 && full < 1:
		return "< 1 %"
	case g.Used < g.Capacity && full > 99:
		return "> 99 %"
	}
	return fmt.Sprintf("%.0f %%", full)
}

func statusInterfaces(s client.Status) string {
	t := newTable("INTERFACE", "SIDE", "MODE", "SENDS", "BECAUSE")
	note := ""
	for _, i := range s.Interfaces {
		sends := "by redirect"
		if i.Mode == "absent" {
			sends = "nothing"
		} else if !i.Redirect {
			sends = "through the stack"
			note = "Through the stack: the interface takes no redirected packets, so the kernel sends\n" +
				"the translated ones. Everything works, only slower.\n"
		}
		t.add(i.Name, i.Side, i.Mode, sends, plain(i.Why))
	}
	return fmt.Sprintf("\n%s%s", t, note)
}

func statusOutbound(s client.Status) string {
	t := newTable("OUTBOUND", "STATE", ">HOSTS")
	for _, o := range s.Outbound {
		t.add(o.Address.String(), o.State, fmt.Sprintf("%.0f %%", 100*o.Hosts))
	}
	return fmt.Sprintf("\n%sThere are slots for %d.\n", t, s.Slots)
}

type counter struct {
	name string
	n    uint64
}

func counted(title string, list []counter) string {
	t := newTable(title, ">COUNT")
	for _, c := range list {
		t.add(c.name, count(c.n))
	}
	return fmt.Sprintf("\n%s", t)
}

func statusNames(s client.Status) string {
	return counted("NAMES", []counter{
		{"answers with a pool address", s.Lent},
		{"reservations claimed", s.Claimed},
		{"reservations expired unused", s.Expired},
		{"services that lost their address", s.Moved},
		{"refusals sent (RST, port unreachable)", s.Refusals},
		{"SYNs answered for the pool by cookies", s.Overflowed},
		{"DNS queries", s.DNS.Queries},
		{"answered", s.DNS.Answered},
		{"truncated (TC=1)", s.DNS.Truncated},
		{"refused", s.DNS.Refused},
		{"refused by reputation or share", s.DNS.Distrusted},
		{"no address free (SERVFAIL)", s.DNS.Exhausted},
		{"forwarded upstream", s.DNS.Forwarded},
		{"upstream failed", s.DNS.UpstreamFailed},
		{"dropped by dns.wait_limit", s.DNS.WaitLimited},
		{"answers without addresses inside", s.DNS.RebindBlocked},
		{"answers without records of ours", s.DNS.OwnRemoved},
		{"asked inside by nobody inside", s.DNS.NotInside},
	})
}

// statusWeb says nothing where there are no web addresses.
func statusWeb(s client.Status) string {
	if s.Web == nil {
		return ""
	}
	return counted("WEB BY NAME", []counter{
		{"connections that wait for name or host", uint64(max(0, s.Web.Waiting))}, //nolint:gosec // not negative
		{"names read", s.Web.Read},
		{"became sessions", s.Web.Opened},
		{"refused, or came to nothing", s.Web.Refused},
		{"frames not heard, as too many wait", s.Web.Full},
	})
}

func statusReasons(s client.Status) string {
	slices.SortStableFunc(s.Reasons, func(x, y client.ReasonCount) int {
		return cmp.Or(cmp.Compare(y.Packets, x.Packets), cmp.Compare(x.Reason, y.Reason))
	})
	t := newTable("PACKETS", ">COUNT")
	for _, r := range s.Reasons {
		t.add(string(r.Reason), count(r.Packets))
	}
	if len(s.Reasons) == 0 {
		t.add("none yet", "0")
	}
	return fmt.Sprintf("\n%s", t)
}
