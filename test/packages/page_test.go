package packages

import (
	"os"
	"strings"
	"testing"
	"time"
)

// page is a page of the guide whose blocks of commands a test runs, each once and in their order.
type page struct {
	t      *testing.T
	name   string
	blocks []string
}

func pageOf(t *testing.T, name string) *page {
	t.Helper()
	text, err := os.ReadFile("../../docs/guide/" + name)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{t: t, name: name}
	for _, part := range strings.Split(string(text), "\n```sh\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		p.blocks = append(p.blocks, block)
	}
	return p
}

// next is the next block; it has to be about that.
func (p *page) next(about string) string {
	p.t.Helper()
	if len(p.blocks) == 0 || !strings.Contains(p.blocks[0], about) {
		p.t.Fatalf("%s: the next block is not about %q: %q", p.name, about, p.blocks)
	}
	block := p.blocks[0]
	p.blocks = p.blocks[1:]
	return block
}

// end checks that all were run.
func (p *page) end() {
	p.t.Helper()
	if len(p.blocks) > 0 {
		p.t.Errorf("%s: nobody ran %q", p.name, p.blocks)
	}
}

// does runs a block on the machine, as root does at its shell, and logs how long it took.
func (m *machine) does(block string) string {
	m.t.Helper()
	start := time.Now()
	out := m.must("sh", "-e", "-c", "cd /srv\n"+block)
	first, _, _ := strings.Cut(block, "\n")
	m.t.Logf("%5.1f s  %s", time.Since(start).Seconds(), first)
	return out
}

// deb copies a package to the machine.
func (m *machine) deb(from, to string) {
	m.t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		m.t.Fatal(err)
	}
	m.put(content, to)
}
