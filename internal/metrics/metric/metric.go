package metric

// Metric is one of the gateway's metrics.
type Metric int

// Kind is how the values of a metric are to be read.
type Kind uint8

// The kinds.
const (
	Counter Kind = iota // never falls while the gateway runs
	Gauge
	Summary // how many, and their sum
)

// Definition is what a metric is.
type Definition struct {
	Name   string
	Help   string
	Kind   Kind
	Most   int // series; what is beyond is left out of a page, and counted
	Labels []string
}

// Define returns what a metric is.
func (m Metric) Define() Definition { return definitions[m] }

// All are the metrics, in the order of the reference.
func All() []Metric {
	list := make([]Metric, len(definitions))
	for i := range list {
		list[i] = Metric(i)
	}
	return list
}

// Page takes what is measured at one scrape. It is used by one goroutine.
type Page interface {
	// Put adds a value, for a counter or a gauge. There are as many labels as the metric has.
	Put(m Metric, value float64, labels ...string)
	// PutSummary adds a count and a sum.
	PutSummary(m Metric, count uint64, sum float64, labels ...string)
}

// PutIf adds 1 where something is so, else 0.
func PutIf(p Page, m Metric, is bool, labels ...string) {
	value := 0.0
	if is {
		value = 1
	}
	p.Put(m, value, labels...)
}
