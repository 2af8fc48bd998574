package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// longAnswer is how long an answer is at least that comes near to the 4,096 octets that are asked for.
const longAnswer = 4_050

// nsd serves a name with a short answer, and one with a long one.
func (w *works) nsd() {
	w.t.Helper()
	zone := "$ORIGIN test.example.\n$TTL 60\n@ SOA ns hostmaster 1 60 60 60 60\n@ NS ns\nns A " + w.server.IP.String() + "\nsmall A 192.0.2.1\n" +
		"big TXT" + strings.Repeat(" "+strings.Repeat("x", 255), 15) + " " + strings.Repeat("x", 190) + "\n"
	settings := fmt.Sprintf("server:\n  ip-address: %s\n  username: \"\"\n  chroot: \"\"\n  zonesdir: %[2]s\n  xfrdir: %[2]s\n  database: \"\"\n"+
		"  pidfile: \"\"\n  xfrdfile: %[2]s/xfrd\n  zonelistfile: %[2]s/list\n  cookie-secret-file: %[2]s/cookie\n  ipv4-edns-size: 4096\n"+
		"remote-control:\n  control-enable: no\nzone:\n  name: test.example\n  zonefile: test.zone\n", w.server.IP, w.directory)
	w.must(os.WriteFile(w.file("test.zone"), []byte(zone), 0o600), os.WriteFile(w.file("nsd.conf"), []byte(settings), 0o600))
	command := w.server.Command(w.t.Context(), "nsd", "-d", "-c", w.file("nsd.conf"))
	w.must(command.Start())
	eventually(w.t, 10*time.Second, "nsd answers", func() bool {
		return w.server.Command(w.t.Context(), "dig", "+time=1", "+tries=1", "@"+w.server.IP.String(), "small.test.example").Run() == nil
	})
}

var digSize = regexp.MustCompile(`MSG SIZE  rcvd: (\d+)`)

// digOut asks by UDP and by TCP, and for a long answer that comes whole, by UDP alone.
func digOut(ctx context.Context, w *works, _ func()) error {
	for _, c := range []struct {
		question []string
		want     string
		size     int
	}{
		{[]string{"small.test.example", "+notcp"}, "192.0.2.1", 0},
		{[]string{"small.test.example", "+tcp"}, "192.0.2.1", 0},
		{[]string{"big.test.example", "TXT", "+notcp", "+ignore", "+bufsize=4096"}, "ANSWER: 1", longAnswer},
	} {
		out, err := w.host.Command(ctx, "dig", append([]string{"@" + w.server.IP.String(), "+time=4", "+tries=3"}, c.question...)...).CombinedOutput()
		if err == nil && !bytes.Contains(out, []byte(c.want)) {
			err = errors.New("no answer")
		}
		if err == nil && c.size > 0 {
			n := 0
			if found := digSize.FindSubmatch(out); found != nil {
				n, _ = strconv.Atoi(string(found[1]))
			}
			if n < c.size || n > 4096 || bytes.Contains(out, []byte(" tc")) {
				err = fmt.Errorf("an answer of %d octets", n)
			}
		}
		if err != nil {
			return fmt.Errorf("dig %v: %w: %s", c.question, err, out[max(0, len(out)-300):])
		}
	}
	return nil
}
