package server

import (
	"encoding/json"
	"fmt"

	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/store"
)

// What the store keeps for the name servers.
const (
	namesBucket = "names"
	zonesKey    = "zones"  // serials and challenges
	cookieKey   = "cookie" // the secrets of DNS cookies
)

// zoneStore keeps serials and challenges in the instance's file. It is a nameserver.Store.
type zoneStore struct{ *store.Store }

// Load implements nameserver.Store.
func (s zoneStore) Load() (state nameserver.State, err error) {
	text, err := keptName(s.Store, zonesKey)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &state)
	}
	return state, err
}

// Save implements nameserver.Store.
func (s zoneStore) Save(state nameserver.State) error {
	text, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("write the zones' state: %w", err)
	}
	return s.Change(namesBucket, map[string][]byte{zonesKey: text}, nil)
}

func keptName(s *store.Store, wanted string) (found []byte, err error) {
	err = s.Each(namesBucket, func(key string, value []byte) error {
		if key == wanted {
			found = append([]byte(nil), value...)
		}
		return nil
	})
	return found, err
}
