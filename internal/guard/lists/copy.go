package lists

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Copy is a list as it is kept on the disk: two lines and then the text. The first line
// has the form's name and the SHA-256 of all that follows, the second says in JSON what
// the copy is of.
type Copy struct {
	Source     string     `json:"source"`
	Fetched    time.Time  `json:"fetched"`
	Validators Validators `json:"validators"`
	Text       []byte     `json:"-"`
}

const copyForm = "realmgate-list-1 "

// encode returns what to write, in pieces: the text is not copied.
func (c Copy) encode() ([][]byte, error) {
	about, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	about = append(about, '\n')
	sum := sha256.New()
	sum.Write(about)
	sum.Write(c.Text)
	first := fmt.Appendf(nil, "%s%x\n", copyForm, sum.Sum(nil))
	return [][]byte{first, about, c.Text}, nil
}

// decodeCopy reads what encode wrote, and nothing else.
func decodeCopy(data []byte) (c Copy, err error) {
	first, rest, whole := bytes.Cut(data, []byte("\n"))
	written, ours := bytes.CutPrefix(first, []byte(copyForm))
	if !whole || !ours {
		return Copy{}, fmt.Errorf("%w: it does not begin as one", ErrDamaged)
	}
	if sum := sha256.Sum256(rest); hex.EncodeToString(sum[:]) != string(written) {
		return Copy{}, fmt.Errorf("%w: its checksum is wrong", ErrDamaged)
	}
	about, text, _ := bytes.Cut(rest, []byte("\n"))
	if err := json.Unmarshal(about, &c); err != nil {
		return Copy{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	c.Text = text
	return c, nil
}
