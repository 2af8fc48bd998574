// Package datapath tests the data plane with packets: each goes in through
// BPF_PROG_TEST_RUN, and what comes out is compared field by field. A test's
// gateway stands in a namespace of its own with real routes and neighbours.
// Tests named after a requirement (TestRFC4787_REQ9_Hairpin) are what
// docs/conformance.md points to.
package datapath
