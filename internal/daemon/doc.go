// Package daemon joins the rooms of the house: it is the only package that knows all the others. services.go lists them in
// order; start, reload, status and stop are loops over that list (internal/lifecycle). What one room needs of another it
// declares as a small interface, and a file here for each room gives it.
//
// A view is what one configuration says, whole; it does not change, and the one in force is swapped at once. A draft is a view
// on its way into force, one at a time, under Daemon.changing.
package daemon
