package api

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
)

// A page of a list has as many rows as are asked for: PageRows where nobody says, MostRows at most. In lines a list has no
// such bounds.
const (
	PageRows = 1000
	MostRows = 10_000
)

// Page says which part of a list is wanted, in which order. The zero value is its beginning, in the list's own order.
type Page struct {
	Limit  int    // the most rows; 0: PageRows, or in lines all that follow
	Cursor string // the Next of the page before; empty: the first
	Sort   string // a field's name, with - in front for the greatest first; empty: the list's own order
}

// answeredPage is a page of a list.
type answeredPage struct {
	Items any    `json:"items"` // a slice
	Next  string `json:"next,omitempty"`
}

// More is the last line of a page in lines that others follow.
type More struct {
	Next string `json:"next"` // its cursor
}

// Query adds the page to the query of a list.
func (p Page) Query(query url.Values) url.Values {
	if p.Limit != 0 {
		query.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.Cursor != "" {
		query.Set("cursor", p.Cursor)
	}
	if p.Sort != "" {
		query.Set("sort", p.Sort)
	}
	return query
}

func pageParameters() []Parameter {
	return []Parameter{
		{Name: "limit", Short: fmt.Sprintf("The most rows: 1 to %d, %d where it is left out; in lines any number, and all.", MostRows, PageRows), Integer: true},
		{Name: "cursor", Short: "The next of the page before."},
		{Name: "sort", Short: "A field of the rows, with - in front for the greatest first. Without it the list has an order of its own."},
	}
}

// takePage reads a page, and takes it out of the query.
func takePage(query url.Values, lines bool) (p Page, err error) {
	limit, err := take(query, "limit")
	if err != nil {
		return p, err
	}
	if p.Cursor, err = take(query, "cursor"); err != nil {
		return p, err
	}
	if p.Sort, err = take(query, "sort"); err != nil {
		return p, err
	}
	most := MostRows
	if !lines {
		p.Limit = PageRows
	} else {
		most = 1<<31 - 1
	}
	if limit != "" {
		if p.Limit, err = strconv.Atoi(limit); err != nil || p.Limit < 1 || p.Limit > most {
			return p, fmt.Errorf("limit: %q is not a number from 1 to %d", limit, most)
		}
	}
	return p, nil
}

// take takes a parameter out of the query; it is empty where it is not given.
func take(query url.Values, key string) (string, error) {
	values, given := query[key]
	if !given {
		return "", nil
	}
	delete(query, key)
	if len(values) != 1 {
		return "", fmt.Errorf("%q is given %d times", key, len(values))
	}
	return values[0], nil
}

// cursor is what stands after the last row of a page.
type cursor struct {
	Sort string          `json:"sort,omitempty"`
	At   uint32          `json:"at,omitempty"`  // the row's number in the list's own order
	Row  json.RawMessage `json:"row,omitempty"` // its place in the order of Sort
}

func (c cursor) String() string {
	text, _ := json.Marshal(c) // what it consists of has been read
	return base64.RawURLEncoding.EncodeToString(text)
}

// cursor reads that of the page.
func (p Page) cursor() (c cursor, err error) {
	if p.Cursor == "" {
		return cursor{Sort: p.Sort}, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil || c.Sort != "" && c.Row == nil {
		return c, fmt.Errorf("cursor: %q is none: use the next of a page", p.Cursor)
	}
	if c.Sort != p.Sort {
		return c, errors.New("cursor: it is of a page with another sort")
	}
	return c, nil
}
