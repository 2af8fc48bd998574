package config

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"time"

	"github.com/realmgate/realmgate/internal/schema"
)

const (
	mostLists    = 64
	mostColumns  = 1000
	longestURL   = 2048 // bytes
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

type listDraft struct {
	list     List
	nameLine int
}

func (l *listDraft) keys() []schema.Key {
	l.list.Refresh = 6 * time.Hour
	return []schema.Key{
		schema.OneAt("name", &l.list.Name, &l.nameLine, schema.Label()).Must(),
		schema.One("url", &l.list.URL, listAddress()).Must(),
		schema.One("refresh", &l.list.Refresh, schema.Duration(leastRefresh, mostRefresh)),
		schema.One("column", &l.list.Column, schema.Number(1, mostColumns)).Otherwise("the one that has them"),
	}
}

// webAddress is a URL of http or https.
func webAddress() schema.Kind[string] {
	return schema.Kind[string]{
		Name: "URL", Allowed: "http:// or https://, and a host", Want: "a URL (https://lists.example/drop.txt)", Tags: schema.TextTag,
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
			u, err := url.Parse(text)
			switch {
			case len(text) > longestURL:
				return "", fmt.Errorf("it is longer than %d bytes", longestURL)
			case err != nil || u.Scheme != "http" && u.Scheme != "https":
				return "", schema.ErrNoHint
			case u.Hostname() == "":
				return "", errors.New("it has no host")
			}
			if port := u.Port(); port != "" {
				if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
					return "", fmt.Errorf("port %s is not one of 1 to 65535", port)
				}
			}
			return text, nil
		},
	}
}

// listAddress is a URL of http or https, or of a file.
func listAddress() schema.Kind[string] {
	k := webAddress()
	k.Allowed = "http:// or https:// and a host, or file:// and an absolute path"
	k.Want = "a URL (https://lists.example/drop.txt, file:///etc/drop.txt)"
	web := k.Parse
	k.Parse = func(text string) (string, error) {
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Scheme != "file" || len(text) > longestURL:
			return web(text)
		case u.Host != "" || !path.IsAbs(u.Path):
			return "", errors.New("a file has no host, and its path begins with a third /")
		}
		return text, nil
	}
	return k
}

// finishLists checks that lists differ by name, and that each that is named is there.
func (d *draft) finishLists() {
	taken := takenNames{}
	for i, l := range d.lists {
		if i == mostLists {
			d.faults.Add(l.nameLine, "lists: there are %d, at most %d are allowed", len(d.lists), mostLists)
			break
		}
		taken.take(d.faults, fmt.Sprintf("lists[%d]", i), l.list.Name, l.nameLine)
		d.config.Lists = append(d.config.Lists, l.list)
	}
	for _, u := range d.protection.lists {
		if _, known := taken[u.Name]; !known {
			d.faults.Add(u.Line, "%s: there is no list %s under lists", u.Path, u.Name)
		}
	}
}
