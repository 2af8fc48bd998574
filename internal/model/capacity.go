package model

// MaxPoolAddresses is how many addresses a pool may lend.
const MaxPoolAddresses = 65536

// How many sessions a data plane may have room for.
const (
	MinCapacity = 1024
	MaxCapacity = 64_000_000
)
