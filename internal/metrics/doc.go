// Package metrics shows Prometheus what the gateway measures: a page of the control API.
//
// Values are read when the page is asked for: rooms put them on it, and nothing is copied for it meanwhile. Neither waits for a
// lock that packets or questions wait for. What there is to measure, and how many series of it at most, is in the table of
// package metric; the collector leaves out what is beyond.
//
// A Service's methods may be called concurrently.
package metrics
