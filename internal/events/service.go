package events

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
)

// SinksOf are the sinks of a configuration.
func SinksOf(c *config.Config) []Options {
	list := make([]Options, len(c.Events))
	for i, s := range c.Events {
		list[i] = Options{Name: s.Name, File: s.File, Command: s.Command, Webhook: s.Webhook, Kinds: s.Kinds}
	}
	return list
}

// Report says which sinks do not take events.
func (h *Hub) Report(s *api.Status) error {
	for _, sink := range h.Status() {
		if sink.Error != "" {
			s.Remedies = append(s.Remedies, fmt.Sprintf("events wait for sink %s: %s: see realmgate events", sink.Name, sink.Error))
		}
	}
	return nil
}

// Sinks is api.Gateway.Events.
func (h *Hub) Sinks() ([]api.Sink, error) {
	list := []api.Sink{}
	for _, s := range h.Status() {
		list = append(list, api.Sink{
			Name: s.Name, File: s.File, Command: s.Command, Webhook: s.Host(), Kinds: s.Kinds,
			Delivered: s.Delivered, Lost: s.Lost, Queued: s.Queued, Failures: s.Failures, Error: s.Error,
		})
	}
	return list, nil
}

// PoolExhausted tells that a name had no address.
func (h *Hub) PoolExhausted(addresses int) { h.Emit(PoolExhausted{Addresses: addresses}) }

// PoolRecovered tells that names have addresses again, and how many questions had none.
func (h *Hub) PoolRecovered(refused uint64) { h.Emit(PoolRecovered{Refused: refused}) }

// ListFailed tells that a list cannot be refreshed.
func (h *Hub) ListFailed(name string, why error) { h.Emit(ListFailed{List: name, Error: Text(why)}) }

// ListRecovered tells that this is over.
func (h *Hub) ListRecovered(name string) { h.Emit(ListRecovered{List: name}) }

// WatchFailed tells that a watch cannot read its log.
func (h *Hub) WatchFailed(name string, why error) { h.Emit(WatchFailed{Watch: name, Error: Text(why)}) }

// WatchRecovered tells that this is over.
func (h *Hub) WatchRecovered(name string) { h.Emit(WatchRecovered{Watch: name}) }
