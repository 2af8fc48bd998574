package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
)

func main() {
	options := flag.NewFlagSet("manual", flag.ExitOnError)
	version := options.String("version", "devel", "of the program, for the foot of each page")
	date := options.String("date", "", "for the same")
	_ = options.Parse(os.Args[1:])
	if options.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "manual: give the folder of the reference, and one for the pages")
		os.Exit(2)
	}
	if err := write(options.Arg(0), options.Arg(1), *version, *date); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

// page is one man page, in Markdown.
type page struct {
	name, title string // realmgate-pool, realmgate pool
	section     int
	body        string
}

func write(reference, folder, version, date string) error {
	commands, err := os.ReadFile(filepath.Join(reference, "cli.md"))
	if err != nil {
		return err
	}
	configuration, err := os.ReadFile(filepath.Join(reference, "configuration.md"))
	if err != nil {
		return err
	}
	pages := append(ofCommands(string(commands)), ofConfiguration(string(configuration)))
	for _, p := range pages {
		head := fmt.Sprintf("%% %s %d %q %q %q\n\n", strings.ToUpper(p.name), p.section, date, "realmgate "+version, "Realmgate")
		at := filepath.Join(folder, fmt.Sprintf("%s.%d", p.name, p.section))
		if err := os.WriteFile(at, md2man.Render([]byte(head+p.body)), 0o644); err != nil { //nolint:gosec // everybody reads manuals
			return err
		}
	}
	return nil
}

// ofCommands makes a page of each section "## realmgate pool". What stands before the first is about all of them.
func ofCommands(text string) []page {
	intro, sections, _ := strings.Cut(text, "\n## ")
	_, intro, _ = strings.Cut(intro, "\n") // without the title
	var pages []page
	for _, section := range strings.Split(sections, "\n## ") {
		title, body, _ := strings.Cut(section, "\n")
		pages = append(pages, page{name: strings.ReplaceAll(title, " ", "-"), title: title, section: 1, body: body})
	}
	all := pages[0]
	for i := range pages {
		p := &pages[i]
		others := []string{"**realmgate.yaml**(5)"}
		if i == 0 {
			p.body = intro + "\n" + p.body + "\n# COMMANDS\n\n" + listed(pages[1:])
			p.body = "# NAME\n\nrealmgate - a gateway that lends public addresses by name\n\n# SYNOPSIS\n\n**realmgate** *COMMAND* [*FLAGS*]\n\n# DESCRIPTION\n" + plain(p.body)
		} else {
			others = append([]string{"**" + all.name + "**(1)"}, others...)
			p.body = "# NAME\n\n" + p.name + " - " + summary(p.body) + "\n\n# SYNOPSIS\n\n**" + p.title + "** [*FLAGS*]\n\n# DESCRIPTION\n\n" + plain(p.body)
		}
		p.body += "\n# SEE ALSO\n\n" + strings.Join(others, ", ") + "\n"
	}
	return pages
}

// listed names each command with what it does.
func listed(pages []page) string {
	var b strings.Builder
	for _, p := range pages {
		fmt.Fprintf(&b, "**%s**(1)\n: %s\n\n", p.name, summary(p.body))
	}
	return b.String()
}

// summary is the first sentence, for the list of commands and whatis.
func summary(body string) string {
	paragraph, _, _ := strings.Cut(strings.TrimSpace(body), "\n\n")
	sentence, _, _ := strings.Cut(strings.ReplaceAll(unlinked(paragraph), "\n", " ")+" ", ". ")
	sentence, _, _ = strings.Cut(sentence, ": ")
	return strings.TrimSuffix(strings.TrimSpace(strings.ReplaceAll(sentence, "`", "")), ".")
}

func ofConfiguration(text string) page {
	_, body, _ := strings.Cut(text, "\n")
	body = strings.ReplaceAll("\n"+body, "\n## ", "\n# ")
	body = strings.ReplaceAll(body, "\n### ", "\n## ")
	return page{
		name: "realmgate.yaml", section: 5,
		body: "# NAME\n\nrealmgate.yaml - the configuration of the gateway\n\n# DESCRIPTION\n" + plain(body) + "\n# SEE ALSO\n\n**realmgate**(1), **realmgate-check**(1), **realmgate-reload**(1)\n",
	}
}
