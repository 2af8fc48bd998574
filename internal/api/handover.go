package api

// HandoverCommands are those of an upgrade.
type HandoverCommands interface {
	// Handover has the daemon stop as soon as this is answered, leave the data plane at work, and the next version run in its
	// place. An error says why that cannot take over: then nothing stops.
	Handover() (Handover, error)
}

// Handover says what a daemon leaves at work.
type Handover struct {
	Sessions int `json:"sessions"`
}

func handover(g Gateway, _ Request) (Handover, error) { return g.Handover() }
