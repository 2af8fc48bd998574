// Package store keeps what must outlive a restart in one file for each instance. The
// file is made when there is something to keep.
package store
