package api

import "github.com/realmgate/realmgate/internal/model"

// ConfigCommands are those about the configuration.
type ConfigCommands interface {
	// Reload reads the configuration file again and puts it into force whole.
	// An error, which reads FILE:LINE: message where it can, changes nothing; a Stale says that what is expected is not in force.
	Reload(Expected) (Reload, error)
	// Config returns what is in force.
	Config() (Config, error)
	// ConfigDiff says what a reload would change.
	ConfigDiff() (ConfigDiff, error)
}

// Config is the configuration in force. It has the secrets that the file has.
type Config struct {
	Generation uint32       `json:"generation"`
	Files      []ConfigFile `json:"files"`     // with what commands changed
	Effective  string       `json:"effective"` // all of them, with the defaults and without comments
}

// ConfigFile is one of the files of a configuration.
type ConfigFile struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// MostDifferences bounds each list of a ConfigDiff; Left is how many more there are.
const MostDifferences = 1000

// ConfigDiff is what would be another after a reload.
type ConfigDiff struct {
	Generation  uint32          `json:"generation"` // in force
	File        string          `json:"file"`
	Differences []Difference    `json:"differences"`
	Services    []ServiceChange `json:"services"` // in the order of their hosts
	Restart     []string        `json:"restart"`  // keys that differ, and only a restart changes: a reload is refused
	Left        int             `json:"left,omitempty"`
}

// Difference is a value that changes, or an entry of a list that comes or goes.
type Difference struct {
	Key string `json:"key"`           // as hosts[hosta.foo.example.].open
	Was string `json:"was,omitempty"` // left out: it comes
	Is  string `json:"is,omitempty"`  // left out: it goes
}

// ServiceChange is what a name would open, or would not any more.
type ServiceChange struct {
	Host     string       `json:"host"`
	Name     string       `json:"name"`
	Opens    []model.Port `json:"opens,omitempty"`
	Closes   []model.Port `json:"closes,omitempty"`
	Sessions int          `json:"sessions,omitempty"` // that stand now, and end by it
}

func inForce(g Gateway, _ Expected) (Config, error) { return g.Config() }

func configDiff(g Gateway, _ Expected) (ConfigDiff, error) {
	d, err := g.ConfigDiff()
	d.Differences, d.Services, d.Restart = list(d.Differences), list(d.Services), list(d.Restart)
	return d, err
}
