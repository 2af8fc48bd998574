// Package method is the arithmetic of measuring: statistics of repeated trials,
// searches for the highest rate that passes, and models. It is pure.
package method
