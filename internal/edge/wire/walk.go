package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// walk refuses what encoding/json takes: keys that are there twice, keys that differ by case alone ("From" would be
// another "from"; so keys are of a to z, 0 to 9 and _), and depth without end.
func walk(octets []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(octets))
	decoder.UseNumber()
	var open []level
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) && len(open) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		if text, isText := token.(string); isText && len(open) > 0 && open[len(open)-1].wantsKey() {
			if err := open[len(open)-1].key(text); err != nil {
				return err
			}
			continue
		}
		if delim, isDelim := token.(json.Delim); isDelim {
			switch delim {
			case '{', '[':
				if len(open) == Depth {
					return ErrDeep
				}
				open = append(open, level{isObject: delim == '{'})
				continue
			default:
				open = open[:len(open)-1]
			}
		}
		if len(open) > 0 {
			open[len(open)-1].hasKey = false // a value has ended
		}
	}
}

// level is an object or a list that is not closed yet.
type level struct {
	isObject, hasKey bool
	keys             map[string]bool
}

func (l *level) wantsKey() bool { return l.isObject && !l.hasKey }

func (l *level) key(text string) error {
	for _, c := range []byte(text) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return fmt.Errorf("%w: key %q has more than a to z, 0 to 9 and _", ErrMalformed, text)
		}
	}
	if l.keys[text] {
		return fmt.Errorf("%w: %q", ErrTwice, text)
	}
	if l.keys == nil {
		l.keys = make(map[string]bool)
	}
	l.keys[text], l.hasKey = true, true
	return nil
}
