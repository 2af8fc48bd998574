package object

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/schema"
)

// Kind is the line of the list.
var Kind = nf.Kind{Word: "a function of your own", Path: isPath, New: func(use string) nf.Draft { return &draft{settings: Settings{File: use}} }}

// Settings are the object, and what it is asked.
type Settings struct {
	File   string // as the configuration has it
	Code   []byte // what is in it
	Access Access
	Hook   Hook
}

// Hook is what the function is asked about.
type Hook uint8

// A function is asked about the first packet of a flow, or about all.
const (
	HookFlow Hook = iota
	HookPacket
)

// String returns the word of the configuration.
func (h Hook) String() string { return schema.Word(int(h), "hook", "flow", "packet") }

// Access is what a function of the user's own may do with packets.
type Access uint8

// A function only reads packets, or changes them too.
const (
	ReadOnly Access = iota
	Rewrite
)

// String returns the word of the configuration.
func (a Access) String() string { return schema.Word(int(a), "access", "read", "rewrite") }

const (
	objectSuffix = ".bpf.o"
	mostObject   = 4 << 20 // bytes
)

// isPath reports whether what stands after `use` is the path of an object, or was meant to be one.
func isPath(text string) (bool, error) {
	switch slash := strings.Contains(text, "/"); {
	case !strings.HasSuffix(text, ".o") && !slash:
		return false, nil
	case !slash:
		return true, errors.New("a path has a slash: ./" + text)
	case !strings.HasSuffix(text, objectSuffix):
		return true, errors.New("a compiled function's file ends in " + objectSuffix)
	}
	return true, nil
}

type draft struct{ settings Settings }

// Keys implements nf.Draft.
func (d *draft) Keys() []schema.Key {
	return []schema.Key{
		schema.One("access", &d.settings.Access, schema.Choice(ReadOnly, Rewrite)),
		schema.One("hook", &d.settings.Hook, schema.Choice(HookFlow, HookPacket)),
	}
}

// Name implements nf.Named: that of its file, as a label.
func (d *draft) Name() string {
	name := strings.TrimSuffix(filepath.Base(d.settings.File), objectSuffix)
	return strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
}

// Finish implements nf.Draft: it reads the file.
func (d *draft) Finish(s *schema.Given) nf.Settings {
	if _, err := schema.Label().Parse(cmp.Or(s.Name, d.Name())); err != nil {
		s.Add(s.Line, "%s: its file's name makes no name: give it one of %s", s.Path, schema.Label().Allowed)
	}
	var err error
	if d.settings.Code, err = readObject(s.File, d.settings.File); err != nil {
		s.Add(s.Line, "%s.use: %v", s.Path, err)
	}
	return d.settings
}

// Copies implements nf.Copier: it may.
func (Settings) Copies() bool { return true }

// Function implements nf.Settings.
func (s Settings) Function(string, nf.Names) nf.Function {
	return Object{Code: s.Code, Rewrites: s.Access == Rewrite, EveryPacket: s.Hook == HookPacket}
}

func readObject(configuration, path string) ([]byte, error) {
	file, err := schema.OpenBeside(configuration, path, "function")
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read: nothing can be lost
	code, err := io.ReadAll(io.LimitReader(file, mostObject+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the function %s: %w", file.Name(), err)
	case len(code) > mostObject:
		return nil, fmt.Errorf("%s is larger than %d MiB", file.Name(), mostObject>>20)
	}
	return code, nil
}
