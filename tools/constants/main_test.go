package main

import (
	"strings"
	"testing"
)

const header = `
/* How many. */
#define MOST	 64 /* of them */
#define BITS	 11
#define ALL	 (1 << BITS)
#define NEXT	 (BITS + 1)
#define LOOP	 LOOP
#define WORD	 0x10UL
enum limit {
	WAYS = 4, /* of a bucket */
};
enum reason {
	REASON_NONE = 0, /* no end */
	REASON_PASSED, /* an end */
	REASON_DROP_TTL_EXPIRED,
	REASON_MAX,
};
enum timeout {
	TIMEOUT_UDP, /* an end */
	TIMEOUT_TCP_CLOSING,
	TIMEOUT_MAX,
};
`

func TestConstants(t *testing.T) {
	made, err := constants(header, "p", wanted{"MOST=most,ALL=all,NEXT=next,WORD=word,WAYS=ways", "reason:REASON_:Reason", "timeout:TIMEOUT_:Timeout"}, "a.h")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"DO NOT EDIT.\n\npackage p\n", "most = 64 ", "all  = 2048 ", "next = 12 ", "word = 16 ", "ways = 4 ",
		`ReasonPassed         Reason = "passed"`, `ReasonDropTTLExpired Reason = "drop_ttl_expired"`,
		"TimeoutUDP        Timeout = 0", "TimeoutTCPClosing Timeout = 1", "TimeoutMax        Timeout = 2",
	} {
		if !strings.Contains(string(made), want) {
			t.Errorf("no %q in\n%s", want, made)
		}
	}
	if strings.Contains(string(made), "None") {
		t.Errorf("a mark is there:\n%s", made)
	}
}

func TestConstantsThatAreNot(t *testing.T) {
	for values, want := range map[string]string{"NOWHERE=n": "there is no NOWHERE", "LOOP=l": "LOOP stands for itself"} {
		if _, err := constants(header, "p", wanted{values: values}, "a.h"); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", values, err, want)
		}
	}
	if _, err := constants(header, "p", wanted{names: "nothing:X_:T"}, "a.h"); err == nil {
		t.Error("an enum that is not there")
	}
	if made, err := constants(header, "p", wanted{numbers: "limit:X_:T"}, "a.h"); err == nil {
		t.Errorf("WAYS is 4, and numbered by its place:\n%s", made)
	}
}
