package natlog

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// mostUsers bounds the users of an endpoint that are told of: each takes a look-up, of up to 80 ms. A port rests between two of them.
const mostUsers = 100

// between says who had an endpoint at the query's time, or later, but before until: the first is the first of each endpoint.
func (f *folder) between(ctx context.Context, q query, until time.Time) (found, error) {
	from, keys := milli(q.at), keysOf(q)
	all, words, err := f.lookFor(keys, time.UnixMilli(max(from, milli(until)-1)))
	if err != nil {
		return all, err
	}
	for _, k := range keys {
		last, floor := words[k], all.floor
		for say := sayOf(last, floor); say > from; say = sayOf(last, floor) {
			if len(all.users) >= mostUsers {
				all.more = true
				break
			}
			if err := context.Cause(ctx); err != nil { // a look-up takes some milliseconds
				return all, fmt.Errorf("look for earlier users: %w", err)
			}
			earlier, before, err := f.lookFor([]key{k}, time.UnixMilli(say-1))
			if err != nil {
				return all, err
			}
			all.add(earlier, last.Record, say)
			last, floor = before[k], earlier.floor
		}
	}
	slices.SortStableFunc(all.users, func(a, b user) int { return a.record.Time.Compare(b.record.Time) })
	return all, nil
}

// sayOf is since when a search says who had an endpoint: since its last word, or since what the search did not look behind.
func sayOf(last word, floor int64) int64 { return max(milli(last.Time), floor) }

// add adds who had an endpoint just before a time, and what is not known of then; next is the record of that time, if there is one.
func (f *found) add(earlier found, next Record, at int64) {
	f.lost, f.gap = max(f.lost, earlier.lost), f.gap || earlier.gap
	if f.first.After(earlier.first) {
		f.first = earlier.first
	}
	told := milli(next.Time) == at
	for _, u := range earlier.users {
		if slices.ContainsFunc(f.users, func(known user) bool { return known.record == u.record }) {
			continue // it is known from behind what the search did not look behind
		}
		if told && u.until.IsZero() && !next.Kind.begins() {
			u.until = next.Time
		}
		if told && next.Kind.stands() && (u.until.IsZero() || u.until.After(next.Time)) { // it is the same, of which that is known twice
			f.users = slices.DeleteFunc(f.users, func(known user) bool {
				same := known.record.Kind == next.Kind && known.record.External == next.External && known.record.Time.Equal(next.Time) && known.record.Private == u.record.Private
				if same {
					u.until = known.until
				}
				return same
			})
		}
		f.users = append(f.users, u)
	}
}
