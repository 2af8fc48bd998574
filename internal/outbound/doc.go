// Package outbound keeps the outbound addresses: those that the configuration names, and those
// of its interfaces, however often they change. It owns no table: the data plane has the slots.
// A Keeper may be used by several goroutines.
package outbound
