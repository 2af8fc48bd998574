package api

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"sort"
	"strings"
)

// inLines reports whether a list is asked for as JSON lines.
func inLines(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "application/x-ndjson")
}

// rowsOf gathers the rows of a list, a slice, that the rest of a query lets through.
type rowsOf func(Gateway, url.Values) (any, error)

// filtered answers with a list that takes a filter. key are the fields that tell its rows apart, and its order.
func filtered[T any](rows func(Gateway, Filter) ([]T, error), key ...string) endpoint {
	return paged(func(g Gateway, query url.Values) (any, error) {
		filter, err := wantFilter(query)
		if err != nil {
			return nil, err
		}
		return rows(g, filter)
	}, key, false)
}

// all is filtered for a list that takes no filter.
func all[T any](rows func(Gateway) ([]T, error), key ...string) endpoint {
	return paged(unfiltered(rows), key, false)
}

// configured is all for a list whose own order is that of the configuration.
func configured[T any](rows func(Gateway) ([]T, error), key ...string) endpoint {
	return paged(unfiltered(rows), key, true)
}

func unfiltered[T any](rows func(Gateway) ([]T, error)) rowsOf {
	return func(g Gateway, query url.Values) (any, error) {
		if err := wantNone(query); err != nil {
			return nil, err
		}
		return rows(g)
	}
}

// hosts have lists where JSON should have no null.
func hosts(g Gateway, f Filter) ([]Host, error) {
	all, err := g.Hosts(f)
	answer := slices.Clone(all) // the gateway's own must not change
	for i := range answer {
		answer[i].Open, answer[i].Services = list(answer[i].Open), list(answer[i].Services)
	}
	return answer, err
}

// paged answers with a page of a list, or in lines. Its own order is that of the key, or the one in which it is gathered.
func paged(rows rowsOf, key []string, asGathered bool) endpoint {
	return func(h handler, w http.ResponseWriter, r *http.Request, query url.Values) error {
		lines := inLines(r)
		page, err := takePage(query, lines)
		if err != nil {
			return failed(err)
		}
		gathered, err := rows(h.gateway, query)
		if err != nil {
			return err
		}
		items, next, err := cut(reflect.ValueOf(gathered), page, key, asGathered)
		if err != nil {
			return failed(err)
		}
		if !lines {
			return reply(w, http.StatusOK, answeredPage{items.Interface(), next})
		}
		s := newStream(w, r)
		for i := 0; i < items.Len() && s.add(items.Index(i).Interface()); i++ {
		}
		if next != "" {
			s.add(More{next})
		}
		return s.finish(nil)
	}
}

// cut copies the rows of a page, and says where the next begins.
func cut(rows reflect.Value, page Page, key []string, asGathered bool) (items reflect.Value, next string, err error) {
	after, err := page.cursor()
	if err != nil {
		return items, "", err
	}
	index := make([]int, rows.Len())
	for i := range index {
		index[i] = i
	}
	begin := min(int(after.At), len(index))
	var o order
	if page.Sort != "" || !asGathered {
		if o, err = orderOf(rows.Type().Elem(), page.Sort, key); err != nil {
			return items, "", err
		}
		slices.SortStableFunc(index, func(i, j int) int { return o.compare(rows.Index(i), rows.Index(j)) })
		if after.Row != nil {
			place, err := o.place(after.Row)
			if err != nil {
				return items, "", fmt.Errorf("cursor: %w", err)
			}
			begin = sort.Search(len(index), func(i int) bool { return o.compare(rows.Index(index[i]), place) > 0 })
		}
	}
	end := len(index)
	if page.Limit > 0 {
		end = min(end, begin+page.Limit)
	}
	items = reflect.MakeSlice(rows.Type(), end-begin, end-begin)
	for i := range items.Len() {
		items.Index(i).Set(rows.Index(index[begin+i]))
	}
	if end < len(index) {
		c := cursor{Sort: page.Sort, At: uint32(end)}
		if o.fields != nil {
			c = cursor{Sort: page.Sort, Row: o.mark(items.Index(items.Len() - 1))}
		}
		next = c.String()
	}
	return items, next, nil
}
