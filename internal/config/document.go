package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	rules "github.com/realmgate/realmgate/internal/ruleset/settings"
	"github.com/realmgate/realmgate/internal/schema"
)

// Document is a configuration and the text that says it. Nobody changes one: an edit
// makes another.
type Document struct {
	Config *Config
	file   string
	text   []byte
	more   []source // further files
}

// File is where the document was read from.
func (d *Document) File() string { return d.file }

// NewDocument is Parse, and keeps the text.
func NewDocument(file string, text []byte) (*Document, error) {
	return newDocument([]source{{file, text}}, nil)
}

func newDocument(sources []source, known []rules.Set) (*Document, error) {
	c, err := parse(sources, known)
	if err != nil {
		return nil, err
	}
	return &Document{Config: c, file: sources[0].file, text: sources[0].text, more: sources[1:]}, nil
}

// sources are all files of the document, in their order.
func (d *Document) sources() []source { return append([]source{{d.file, d.text}}, d.more...) }

// Chain finds a chain by its name.
func (c *Config) Chain(name string) (rules.Chain, bool) {
	i := slices.IndexFunc(c.Chains, func(ch rules.Chain) bool { return ch.Name == name })
	if i < 0 {
		return rules.Chain{}, false
	}
	return c.Chains[i], true
}

// Insert puts a function, given as the YAML of its entry, into a chain, and returns its
// name.
func (d *Document) Insert(chain string, function []byte, place Place) (next *Document, name string, err error) {
	entry, name, err := readFunction(function)
	if err != nil {
		return nil, "", err
	}
	if place != (Place{}) && isPlaced(entry) {
		return nil, "", errors.New("FUNCTION says its place: give priority, before and after there or as flags, not both")
	}
	next, err = d.edit(chain, func(list *yaml.Node) error {
		return place.put(list, entry)
	})
	if err == nil {
		err = place.check(next, chain, name)
	}
	return next, name, err
}

// Remove takes a function out of a chain.
func (d *Document) Remove(chain, name string) (*Document, error) {
	return d.edit(chain, func(list *yaml.Node) error {
		_, err := takeOut(list, name)
		return err
	})
}

// Move puts a function of a chain to another place: its own priority, before and after
// are no more.
func (d *Document) Move(chain, name string, place Place) (*Document, error) {
	next, err := d.edit(chain, func(list *yaml.Node) error {
		entry, err := takeOut(list, name)
		if err != nil {
			return err
		}
		unplace(entry)
		return place.put(list, entry)
	})
	if err == nil {
		err = place.check(next, chain, name)
	}
	return next, err
}

// Take replaces the functions of a chain by those that another document has.
func (d *Document) Take(chain string, from *Document) (*Document, error) {
	_, theirs, err := from.spotOf(chain)
	if err != nil {
		return nil, err
	}
	return d.edit(chain, func(list *yaml.Node) error {
		list.Content = theirs.functions.Content
		return nil
	})
}

// edit changes the functions of a chain, and nothing else of the text.
func (d *Document) edit(chain string, change func(functions *yaml.Node) error) (*Document, error) {
	at, spot, err := d.spotOf(chain)
	if err != nil {
		return nil, err
	}
	if err := change(spot.functions); err != nil {
		return nil, fmt.Errorf("chain %s: %w", chain, err)
	}
	inserted, err := spot.write()
	if err != nil {
		return nil, fmt.Errorf("chain %s: write its functions: %w", chain, err)
	}
	sources := d.sources()
	before := sources[at].text
	sources[at].text = slices.Concat(before[:spot.start], inserted, before[spot.end:])
	if !onlyFunctions(before, sources[at].text, chain) {
		return nil, fmt.Errorf("chain %s: %w", chain, errUnusual)
	}
	next, err := newDocument(sources, d.Config.Sets)
	if err != nil {
		return nil, fmt.Errorf("chain %s: %w", chain, withoutPlaces(err))
	}
	return next, nil
}

// withoutPlaces leaves out the lines of faults in a text that nobody has seen.
func withoutPlaces(err error) error {
	var faults schema.Errors
	if !errors.As(err, &faults) {
		return err
	}
	messages := make([]string, len(faults))
	for i, fault := range faults {
		messages[i] = fault.Message
	}
	return errors.New(strings.Join(messages, "\n"))
}

// readFunction checks the entry of a function by itself; what it has to do with others
// is seen when it stands among them. A list of one entry, as it is cut out of a file,
// will do.
func readFunction(text []byte) (entry *yaml.Node, name string, err error) {
	faults := &schema.Faults{File: "FUNCTION"}
	if len(text) > maxFile {
		return nil, "", fmt.Errorf("FUNCTION is larger than %d bytes", maxFile)
	}
	entry, ok := parseYAML(faults, text, "it is empty: give the entry of a function, as {use: filter, deny: [192.0.2.0/24]}")
	if ok {
		if entry.Kind == yaml.SequenceNode && len(entry.Content) == 1 {
			entry = entry.Content[0]
		}
		name = rules.ReadFunction(faults, entry)
	}
	return entry, name, faults.Err()
}
