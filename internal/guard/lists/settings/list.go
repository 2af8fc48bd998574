package settings

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"time"

	"github.com/realmgate/realmgate/internal/schema"
)

const (
	mostLists    = 64
	mostColumns  = 1000
	leastRefresh = time.Minute
	mostRefresh  = 30 * 24 * time.Hour
)

// List is a list of addresses that somebody else publishes.
type List struct {
	Name    string
	URL     string        // with http or https and a host, or file and an absolute path
	Refresh time.Duration // 1m to 720h: how often it is fetched
	Column  int           // of a table that has the addresses, from 1; 0: found
}

type entry struct {
	schema.Begun
	list     List
	nameLine int
}

func (l *entry) keys() []schema.Key {
	l.list.Refresh = 6 * time.Hour
	return []schema.Key{
		schema.OneAt("name", &l.list.Name, &l.nameLine, schema.Label()).Must(),
		schema.One("url", &l.list.URL, listAddress()).Must(),
		schema.One("refresh", &l.list.Refresh, schema.Duration(leastRefresh, mostRefresh)),
		schema.One("column", &l.list.Column, schema.Number(1, mostColumns)).Otherwise("the one that has them"),
	}
}

// listAddress is a URL of http or https, or of a file.
func listAddress() schema.Kind[string] {
	k := schema.URL()
	k.Allowed = "http:// or https:// and a host, or file:// and an absolute path"
	k.Want = "a URL (https://lists.example/drop.txt, file:///etc/drop.txt)"
	web := k.Parse
	k.Parse = func(text string) (string, error) {
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Scheme != "file" || len(text) > schema.LongestURL:
			return web(text)
		case u.Host != "" || !path.IsAbs(u.Path):
			return "", errors.New("a file has no host, and its path begins with a third /")
		}
		return text, nil
	}
	return k
}

// Draft is `lists`.
type Draft struct {
	lists   *[]List
	entries []*entry
	users   []User
}

// User is a section that names lists.
type User interface{ Lists() []schema.Named }

// New makes a draft whose values go to lists.
func New(lists *[]List, users ...User) *Draft { return &Draft{lists: lists, users: users} }

// Keys implements schema.Draft.
func (s *Draft) Keys() []schema.Key {
	return []schema.Key{schema.ListOf("lists", &s.entries, (*entry).keys).Most(mostLists)}
}

// Finish implements schema.Draft.
func (s *Draft) Finish(faults *schema.Faults) {
	taken := schema.Names{}
	for i, l := range s.entries {
		taken.Take(faults, fmt.Sprintf("lists[%d]", i), l.list.Name, l.nameLine)
		*s.lists = append(*s.lists, l.list)
	}
	for _, user := range s.users {
		for _, u := range user.Lists() {
			if _, known := taken[u.Name]; !known {
				faults.Add(u.Line, "%s: there is no list %s under lists", u.Path, u.Name)
			}
		}
	}
}
