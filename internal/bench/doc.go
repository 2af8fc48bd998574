// Package bench measures.
package bench
