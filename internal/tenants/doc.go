// Package tenants finds what else on this machine has a hand in the gateway's packets: firewalls whose forward chains
// drop, rules that would translate a second time, qdiscs that redirected packets pass by, and XDP programs of others.
// It says of each in one line what it does and what mends it. It changes nothing, and keeps nothing.
package tenants
