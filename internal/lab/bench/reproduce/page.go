package reproduce

import (
	"fmt"
	"io"
	"strings"
)

// Page writes the page, in Markdown: where its figures come from, the summary, and a
// row for each table or figure.
func Page(w io.Writer, papers []Paper, e Evidence) error {
	var text strings.Builder
	text.WriteString(`# The papers' measurements, repeated

What the papers found on their hardware, what this machine shows for netfilter and for Realmgate, and whether the *finding*
holds, not the absolute number. ` + "`realmgate bench reproduce`" + ` writes this page from the reports in [raw](raw/), each with every
trial, its gates, the settings and the exact command.

`)
	text.WriteString(provenance(Jobs(papers), e))
	text.WriteString(`
Figures are medians with their 1st and 99th percentile, of fewer than a hundred trials the least and the greatest; k, M and G are
10^3, 10^6 and 10^9. *Undecided* is what these ranges leave open, or what was not varied.
Fewer than six trials may miss the median, two in one of two cases and five in one of 16: they have to pass a bound by 4 %, and a
single one by a factor of 1.5.
`)
	text.WriteString(compared(e))
	text.WriteString(`
## Summary
Realmgate beside the better of iptables and nftables. Costs are what a device adds to the tester's own time.

`)
	text.WriteString(summaryTable(e))
	for _, p := range papers {
		fmt.Fprintf(&text, "\n## %s\nOn %s.\n\n%s\n", p.Name, p.Hardware, p.Figures)
		text.WriteString("\n| | Finding | Then | Netfilter here | Realmgate here | Holds |\n| --- | --- | --- | --- | --- | --- |\n")
		for _, f := range p.Findings {
			v := f.Judged(e)
			fmt.Fprintf(&text, "| %s | %s | %s | %s | %s | %s |\n", f.Item, cell(f.Claim), cell(f.Then), cell(v.Netfilter), cell(v.Realmgate), cell(verdict(v, f)+pictures(e, f.Item)))
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// compared says how points of sweeps are: all of them only if those of every report took turns.
func compared(e Evidence) string {
	for _, r := range e {
		swept := map[string]bool{}
		for _, result := range r.Results {
			if result.Sweep == 0 && strings.HasPrefix(result.Metric, "rate") {
				swept[at(result.Parameters).String()] = true
			}
		}
		if len(swept) > 1 {
			return "Devices are compared by their costs, without the tester, in the same rounds. Points of a sweep are compared only where its report\n" +
				"says that they took turns within each round.\n"
		}
	}
	return "Points of a sweep take turns within each round, and are compared by their costs, without the tester, in the same rounds.\n"
}

func verdict(v Verdict, f Finding) string {
	text := "**" + string(v.Holds) + "**"
	if v.Why != "" {
		text += ": " + v.Why
	}
	var links []string
	for _, job := range f.Needs {
		links = append(links, fmt.Sprintf("[%s](raw/%s/result.json)", job.Name, job.Name))
	}
	if v.Holds != Unknown && len(links) > 0 {
		text += " (" + strings.Join(links, ", ") + ")"
	}
	return text
}

// cell keeps a text in its cell.
func cell(text string) string {
	if text == "" {
		return "–"
	}
	return strings.NewReplacer("|", "\\|", "\n", " ").Replace(text)
}
