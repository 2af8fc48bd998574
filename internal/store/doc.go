// Package store keeps what must outlive a restart in one file for each instance. The
// file is made when there is something to keep. It also has the lock by which one daemon at a time runs as an instance.
package store
