package model

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func ports(t *testing.T, texts ...string) (list []Port) {
	t.Helper()
	for _, text := range texts {
		more, err := ParsePorts(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, more...)
	}
	return list
}

func TestJoined(t *testing.T) {
	for name, c := range map[string]struct {
		lists [][]string
		want  [][]int
	}{
		"none":                     {nil, nil},
		"nothing shared":           {[][]string{{"tcp/80"}, {"tcp/443"}, {"udp/80"}}, [][]int{{0}, {1}, {2}}},
		"one port":                 {[][]string{{"tcp/80"}, {"tcp/443"}, {"tcp/80", "tcp/22"}}, [][]int{{0, 2}, {1}}},
		"another port of the host": {[][]string{{"tcp/80"}, {"tcp/80:8080"}}, [][]int{{0}, {1}}},
		"through a third":          {[][]string{{"tcp/1"}, {"tcp/2"}, {"tcp/2", "tcp/1"}}, [][]int{{0, 1, 2}}},
		"through a later one":      {[][]string{{"tcp/1"}, {"tcp/3"}, {"tcp/2", "tcp/3"}, {"tcp/1", "tcp/2"}}, [][]int{{0, 1, 2, 3}}},
		"a range":                  {[][]string{{"tcp/10-20"}, {"tcp/15"}}, [][]int{{0, 1}}},
		"ICMP":                     {[][]string{{"icmp"}, {"tcp/80", "icmp"}}, [][]int{{0, 1}}},
		"everything":               {[][]string{{"all"}, {"tcp/80"}, {"all"}}, [][]int{{0}, {1}, {2}}},
	} {
		lists := make([][]Port, len(c.lists))
		for i, texts := range c.lists {
			lists[i] = ports(t, texts...)
		}
		if got := Joined(lists); !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Lists are in one group exactly when a chain of shared ports leads from one to the other.
func TestJoinedAreConnected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		port := rapid.Custom(func(t *rapid.T) Port {
			n := rapid.Uint16Range(1, 12).Draw(t, "port")
			return Port{TCP, n, n + rapid.Uint16Range(0, 1).Draw(t, "shift")}
		})
		lists := rapid.SliceOfN(rapid.SliceOfN(port, 1, 3), 0, 9).Draw(t, "lists")
		connected := make([][]bool, len(lists))
		for i := range lists {
			connected[i] = make([]bool, len(lists))
			for j := range lists {
				connected[i][j] = i == j || slices.ContainsFunc(lists[i], func(p Port) bool { return slices.Contains(lists[j], p) })
			}
		}
		for k := range lists {
			for i := range lists {
				for j := range lists {
					connected[i][j] = connected[i][j] || connected[i][k] && connected[k][j]
				}
			}
		}
		group := make([]int, len(lists))
		firsts := -1
		for g, members := range Joined(lists) {
			if !slices.IsSorted(members) || members[0] <= firsts {
				t.Fatalf("group %d is out of order: %v", g, members)
			}
			firsts = members[0]
			for _, i := range members {
				group[i] += g + 1 // twice or never would be seen below
			}
		}
		for i := range lists {
			for j := range lists {
				if group[i] == 0 || (group[i] == group[j]) != connected[i][j] {
					t.Fatalf("%v: lists %d and %d", lists, i, j)
				}
			}
		}
	})
}

func TestPortTexts(t *testing.T) {
	for _, want := range [][]string{
		nil, {"all"}, {"icmp", "tcp/80"}, {"tcp/80:8080", "tcp/81:8081"}, {"tcp/79:80", "tcp/80-81"}, {"tcp/80", "tcp/81:82"},
		{"tcp/65534-65535", "udp/1-3", "udp/5"},
	} {
		if got := PortTexts(ports(t, want...)); !slices.Equal(got, want) {
			t.Errorf("%v is written %v", want, got)
		}
	}
}

func TestSortPorts(t *testing.T) {
	got := PortTexts(SortPorts(ports(t, "udp/443", "tcp/443", "tcp/80:81", "icmp", "tcp/443", "tcp/80")))
	if want := []string{"icmp", "tcp/80", "tcp/80:81", "tcp/443", "udp/443"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
