package nf

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Kind is a function as the configuration knows it. All are in the list of internal/nf/functions.
type Kind struct {
	Word string // after `use`
	// Path is for a kind that is named by a path instead: whether the text is meant for it, and what is wrong with it then.
	// Word is what it is called where it is spoken of.
	Path func(use string) (bool, error)
	New  func(use string) Draft
}

// Draft is what a function's section is read into.
type Draft interface {
	Keys() []schema.Key // its own, beside those that all functions have
	// Finish says what contradicts itself, and returns what there is to be compiled.
	Finish(s *schema.Given) Settings
}

// Settings are what the configuration says of a function. Two are equal as reflect.DeepEqual has it.
type Settings interface {
	// Function is what is to be compiled; name is what it is called among all.
	Function(name string, n Names) Function
}

// Names are what settings mean by names.
type Names interface {
	Set(name string) *model.AddressSet // of addresses
	Kept(function string) any          // what the daemon keeps for a function beside its tables, nil for nothing
}

// What some drafts and settings have, and others do not.
type (
	// Named is a draft that has a name of its own where the file gives it none.
	Named interface{ Name() string }
	// SetUser is a draft, or a section with such drafts, that names sets of addresses.
	SetUser interface{ Sets() []schema.Named }
	// Sender is settings by which flows from outside go to private hosts: its chain sees them as they come. Their places in the file
	// are its draft's TargetLines.
	Sender interface{ Targets() []netip.Addr }
	// TargetLines are a sender's draft's: the key that names each target, and its line.
	TargetLines interface {
		TargetLines(s *schema.Given) []schema.At[string]
	}
	// Jumper is settings, and a draft, by which flows go on in another chain.
	Jumper interface{ Chain() string }
	// Copier is settings by which packets may go to who captures.
	Copier interface{ Copies() bool }
	// Excuser is settings that have more to say where a function goes on: `explain` shows it.
	Excuser interface{ GoesOn() string }
)
