// Package page is the page of the gateway: what a person looks at. It asks by the control API alone, as whoever looks, and has
// no other way to the gateway. A screen is a Go file, a template and an ES module of the same name; docs/guide/page.md says how
// to add one.
//
// A Site keeps who has logged in, and may be asked by several goroutines.
package page
