package api

import (
	"fmt"
	"net/url"
	"strconv"
)

// Page is a part of the list of sessions. The zero value is all of it.
type Page struct {
	After uint32 // the Next of the page before; 0: the first
	Limit int    // the most sessions; 0: all that follow
}

// More is the last line of a page that others follow.
type More struct {
	Next uint32 `json:"next"`
}

// Query adds the page to the query of a listing.
func (p Page) Query(query url.Values) url.Values {
	if p.After != 0 {
		query.Set("after", strconv.FormatUint(uint64(p.After), 10))
	}
	if p.Limit != 0 {
		query.Set("limit", strconv.Itoa(p.Limit))
	}
	return query
}

// takePage reads a page, and takes it out of the query.
func takePage(query url.Values) (Page, error) {
	after, err := takeNumber(query, "after")
	if err != nil {
		return Page{}, err
	}
	limit, err := takeNumber(query, "limit")
	return Page{After: uint32(after), Limit: int(limit)}, err
}

func takeNumber(query url.Values, key string) (uint64, error) {
	values, given := query[key]
	if !given {
		return 0, nil
	}
	delete(query, key)
	if len(values) != 1 {
		return 0, fmt.Errorf("%q is given %d times", key, len(values))
	}
	n, err := strconv.ParseUint(values[0], 10, 31)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%s: %q is not a number from 1 to 2147483647", key, values[0])
	}
	return n, nil
}
