package events

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/events/settings"
)

// SinksOf are the sinks that a configuration has.
func SinksOf(sinks []settings.Sink) []Options {
	list := make([]Options, len(sinks))
	for i, s := range sinks {
		list[i] = Options(s)
	}
	return list
}

// Report says which sinks do not take events.
func (h *Hub) Report(s *api.Status) error {
	for _, sink := range h.Status() {
		if sink.Error != "" {
			s.Warnings = append(s.Warnings, fmt.Sprintf("events wait for sink %s: %s: see realmgate events", sink.Name, sink.Error))
		}
	}
	return nil
}

// Events implements api.EventCommands.
func (h *Hub) Events() ([]api.Sink, error) {
	list := []api.Sink{}
	for _, s := range h.Status() {
		sink := api.Sink{
			Name: s.Name, File: s.File, Command: s.Command, Webhook: s.Host(), Kinds: s.Kinds,
			Delivered: s.Delivered, Lost: s.Lost, Queued: s.Queued, Failures: s.Failures, Error: s.Error,
		}
		if s.Mail != nil {
			sink.Mail = s.Mail.To
		}
		if s.Telegram != nil {
			sink.Telegram = s.Telegram.Chat
		}
		list = append(list, sink)
	}
	return list, nil
}
