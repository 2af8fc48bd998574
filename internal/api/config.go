package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// ConfigCommands are those about the configuration.
type ConfigCommands interface {
	// Reload reads the configuration file again and puts it into force whole.
	// An error, which reads FILE:LINE: message where it can, changes nothing; a Stale says that what is expected is not in force.
	// One that is to be confirmed is undone after a time, also over a restart, unless Confirm comes before.
	Reload(ReloadRequest) (Reload, error)
	// Confirm keeps what a reload put into force that is to be confirmed.
	Confirm(Request) (Confirmed, error)
	// Config returns what is in force, or what another entry of the history says.
	Config(number int) (Config, error)
	// ConfigHistory returns what was in force, the latest last.
	ConfigHistory() ([]HistoryEntry, error)
	// Rollback writes an entry of the history to the file and puts it into force. An error changes neither.
	Rollback(RollbackRequest) (RolledBack, error)
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

// MostConfirm is how many seconds a reload may wait to be confirmed.
const MostConfirm = 24 * 3600

// ReloadRequest says how to reload.
type ReloadRequest struct {
	Request

	Confirm int // seconds after which it is undone unless it is confirmed; 0: it stays
}

// Unconfirmed is a reload that waits to be confirmed.
type Unconfirmed struct {
	Generation uint32    `json:"generation"` // that it put into force
	Since      time.Time `json:"since"`
	By         string    `json:"by"`             // who reloaded, as "user 0"
	Seconds    float64   `json:"seconds"`        // until it is undone
	Back       int       `json:"back,omitempty"` // number in the history of what comes back; left out: it is not there
}

// Confirmed says what stays in force.
type Confirmed struct {
	Generation uint32 `json:"generation"`
}

// HistoryEntry is a configuration that came into force.
type HistoryEntry struct {
	Number     int       `json:"number"` // by which a rollback knows it; it is never given twice
	Since      time.Time `json:"since"`
	By         string    `json:"by"`             // who asked for it: as "user 0", "SIGHUP" or "gateway"
	How        string    `json:"how"`            // one of the How constants
	To         int       `json:"to,omitempty"`   // which entry came back by rollback or unconfirmed
	Generation uint32    `json:"generation"`     // that it was then
	Kept       []string  `json:"kept,omitempty"` // files with what the rollback replaced
}

// How a configuration comes into force.
const (
	HowStart       = "start"
	HowReload      = "reload"
	HowConfirm     = "reload_confirm" // a reload that is to be confirmed
	HowRollback    = "rollback"
	HowUnconfirmed = "unconfirmed" // a reload was not confirmed, and this came back
	HowSave        = "chain_save"  // commands had put it into force before
)

// RollbackRequest says what is to come back.
type RollbackRequest struct {
	Request

	Number int `json:"number"` // of the history
}

// RolledBack says what came back.
type RolledBack struct {
	Generation uint32   `json:"generation"`
	Hosts      int      `json:"hosts"`
	Kept       []string `json:"kept"` // files with what was replaced
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

// number takes the parameter of that name, 0 where it is not there.
func number(query url.Values, name string, most int) (int, error) {
	given, there := query[name]
	delete(query, name)
	if err := wantNone(query); err != nil || !there {
		return 0, err
	}
	n, err := strconv.Atoi(given[0])
	if len(given) > 1 || err != nil || n < 1 || n > most {
		return 0, failed(fmt.Errorf("%s: want one number from 1 to %d", name, most))
	}
	return n, nil
}

func (h handler) reload(w http.ResponseWriter, r *http.Request, query url.Values) error {
	seconds, err := number(query, "confirm", MostConfirm)
	if err != nil {
		return err
	}
	return doing(func(g Gateway, r Request) (Reload, error) { return g.Reload(ReloadRequest{r, seconds}) })(h, w, r, query)
}

func (h handler) config(w http.ResponseWriter, _ *http.Request, query url.Values) error {
	n, err := number(query, "number", mostNumber)
	if err != nil {
		return err
	}
	c, err := h.gateway.Config(n)
	return changed(w, c, err)
}

// mostNumber bounds the numbers of the history: one a second for a lifetime.
const mostNumber = 1<<31 - 1

func (h handler) rollback(w http.ResponseWriter, r *http.Request, query url.Values) error {
	asked, err := requestOf(r)
	if err != nil {
		return err
	}
	return changing(validRollback, func(g Gateway, q RollbackRequest) (RolledBack, error) {
		q.Request = asked
		done, err := g.Rollback(q)
		done.Kept = list(done.Kept)
		return done, err
	})(h, w, r, query)
}

func validRollback(r RollbackRequest) error {
	if r.Number < 1 {
		return errors.New("say to which number of the history")
	}
	return nil
}

func configDiff(g Gateway, _ Request) (ConfigDiff, error) {
	d, err := g.ConfigDiff()
	d.Differences, d.Services, d.Restart = list(d.Differences), list(d.Services), list(d.Restart)
	return d, err
}
