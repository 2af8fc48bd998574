package model

// How many sessions a data plane may have room for.
const (
	MinCapacity = 1024
	MaxCapacity = 64_000_000
)
