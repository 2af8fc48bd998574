package policy

import "fmt"

// refusal is why a question gets no address, and of whom. It is formatted when it is read: a flood of questions has one
// for each, and hardly anybody reads them.
type refusal struct {
	why    error
	format string
	args   []any
}

func refuse(why error, format string, args ...any) error { return &refusal{why, format, args} }

// Error implements error.
func (r *refusal) Error() string { return fmt.Sprintf(r.format, r.args...) + ": " + r.why.Error() }

// Unwrap is one of the errors of this package.
func (r *refusal) Unwrap() error { return r.why }
