// Package metric is what the gateway measures: the name, labels and bound of each metric, and the page that rooms put values on.
// It has no state.
package metric
