package allocation

// answered is an error with the name server's error by which it is answered. It is formatted when it is read: a flood of
// questions has one for each, and hardly anybody reads them.
type answered struct{ by, why error }

// Error implements error.
func (a *answered) Error() string { return a.by.Error() + ": " + a.why.Error() }

// Is reports whether it is answered by the error.
func (a *answered) Is(target error) bool { return target == a.by }

// Unwrap is what it comes from.
func (a *answered) Unwrap() error { return a.why }
