// Package report shows what was measured: a table for a terminal, JSON, CSV, and a
// page with plots. It keeps no state.
package report
