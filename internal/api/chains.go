package api

import (
	"errors"
	"net/http"
	"net/url"
)

// changingChain is changing for what may expect a generation.
func changingChain(valid func(ChainRequest) error, act func(Gateway, ChainRequest) (ChainChange, error)) endpoint {
	return func(h handler, w http.ResponseWriter, r *http.Request, query url.Values) error {
		expected, err := expected(r)
		if err != nil {
			return err
		}
		return changing(valid, func(g Gateway, q ChainRequest) (ChainChange, error) {
			q.Expected = expected
			done, err := act(g, q)
			if err == nil {
				w.Header().Set("ETag", tag(done.Generation))
			}
			return done, err
		})(h, w, r, query)
	}
}

func validRemoval(r ChainRequest) error {
	if r.places() > 0 {
		return errors.New("what is removed has no place: leave before, after and priority out")
	}
	return nil
}

func validMove(r ChainRequest) error {
	if r.places() == 0 {
		return errors.New("say where to: by before, after or priority")
	}
	return validPlace(r)
}

func validPlace(r ChainRequest) error {
	if r.places() > 1 {
		return errors.New("a function has one place: give one of before, after and priority")
	}
	return nil
}

// places counts the ways in which a request says a place.
func (r ChainRequest) places() (n int) {
	for _, given := range []bool{r.Before != "", r.After != "", r.Priority != nil} {
		if given {
			n++
		}
	}
	return n
}
