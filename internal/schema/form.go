package schema

// Form is what values of a key look like, for editors and others who look at a file before it is read: every good value has it,
// and not all that have it are good.
type Form struct {
	Tags   []string // YAML types
	Words  []string // that it may be, nil for any text
	Open   bool     // there are others than Words
	Bounds *Bounds  // of a number, nil for none
}

// Bounds are the least and the most that a number may be.
type Bounds struct{ Least, Most float64 }

// Form is that of its values.
func (k Kind[T]) Form() *Form { return &Form{k.Tags, k.Words, k.Open, k.Bounds} }
