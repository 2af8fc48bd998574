package events

import "github.com/realmgate/realmgate/internal/metrics/metric"

// Measure says what became of the events of each sink.
func (h *Hub) Measure(page metric.Page) error {
	for _, s := range h.Status() {
		metric.PutIf(page, metric.SinkUp, s.Error == "", s.Name)
		page.Put(metric.SinkDelivered, float64(s.Delivered), s.Name)
		page.Put(metric.SinkLost, float64(s.Lost), s.Name)
		page.Put(metric.SinkQueued, float64(s.Queued), s.Name)
	}
	return nil
}
