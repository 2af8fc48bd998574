package jail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/realmgate/realmgate/internal/guard/jail/settings"
)

// Doubts names the jails whose file is not there. It may come later, so none is an error.
func Doubts(jails []settings.Jail) (list []string) {
	for _, j := range jails {
		if j.File == "" {
			continue
		}
		if _, err := os.Stat(j.File); errors.Is(err, fs.ErrNotExist) {
			list = append(list, fmt.Sprintf("jail %s bans nobody while there is no %s: correct its file, or follow the journal by a command", j.Name, j.File))
		}
	}
	return list
}
