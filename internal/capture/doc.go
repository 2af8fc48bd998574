// Package capture lets people look at packets: a sample of those that are dropped (Drops), and copies of those that functions
// of chains say to take (Service). The data plane samples and copies only while somebody looks.
//
// All methods may be called concurrently. A stream waits for nobody: what comes too fast for who looks is lost, and counted
// where it was asked for.
package capture
