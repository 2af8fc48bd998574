package page

import (
	"testing"

	"github.com/realmgate/realmgate/test/lab"
)

// program is the realmgate program that TestMain builds.
var program string

var eventually = lab.Eventually

func TestMain(m *testing.M) {
	lab.Whole{
		Name: "tests of the page", Program: &program,
		Tools: []string{"chromium", "curl", "dig", "nginx", "tcpdump", "unbound"},
	}.Main(m)
}
