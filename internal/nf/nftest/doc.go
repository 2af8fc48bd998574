// Package nftest is for the tests of functions: it runs chains in the kernel without a gateway around them, reads their
// sections, and compiles functions as users do.
//
// A bed has tables of its own in the kernel and is for one goroutine.
package nftest

//go:generate go run -C ../../../tools ./constants -package nftest -o ../internal/nf/nftest/constants.go -numbers nf_payload:NF_PAYLOAD_:Payload,nf_fragment:NF_:Fragment ../bpf/include/nf.h ../bpf/nf/nf.h
