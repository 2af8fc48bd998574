package api

import (
	"errors"
	"net/http"
	"net/url"
)

func (h handler) insertFunction(w http.ResponseWriter, r *http.Request, query url.Values) error {
	return changeChain(w, r, query, validPlace, h.gateway.InsertFunction)
}

func (h handler) removeFunction(w http.ResponseWriter, r *http.Request, query url.Values) error {
	return changeChain(w, r, query, func(r ChainRequest) error {
		if r.places() > 0 {
			return errors.New("what is removed has no place: leave before, after and priority out")
		}
		return nil
	}, h.gateway.RemoveFunction)
}

func (h handler) moveFunction(w http.ResponseWriter, r *http.Request, query url.Values) error {
	return changeChain(w, r, query, func(r ChainRequest) error {
		if r.places() == 0 {
			return errors.New("say where to: by before, after or priority")
		}
		return validPlace(r)
	}, h.gateway.MoveFunction)
}

func (h handler) saveChains(w http.ResponseWriter, r *http.Request, query url.Values) error {
	return do(w, r, query, h.gateway.SaveChains)
}

// changeChain is change for what may expect a generation.
func changeChain(w http.ResponseWriter, r *http.Request, query url.Values, valid func(ChainRequest) error, act func(ChainRequest) (ChainChange, error)) error {
	expected, err := expected(r)
	if err != nil {
		return err
	}
	return change(w, r, query, valid, func(q ChainRequest) (ChainChange, error) {
		q.Expected = expected
		done, err := act(q)
		if err == nil {
			w.Header().Set("ETag", tag(done.Generation))
		}
		return done, err
	})
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
