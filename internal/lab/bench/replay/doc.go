// Package replay reads a person's capture and tells what of it can be sent through a
// device, between addresses of a rig: flows, who began each, and their packets in order.
// It sends nothing itself.
package replay
